/** Formats the results of a run as Markdown tables. */
import { arch, cpus, platform, totalmem } from "node:os"
import type { Operation, Target } from "./plan.ts"
import { pinned } from "./processes.ts"
import type { ProcessorTime } from "./processes.ts"

/** The figures of one burst. */
export interface Burst {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
  /** Processor time per request in microseconds, where the system reports it. */
  readonly cost?: ProcessorTime | undefined
}

/** The median. An even count averages the two middle values. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export const whole = (value: number) => (Number.isNaN(value) ? "" : Math.round(value).toLocaleString("en-US"))
export const millis = (value: number) => (value < 100 ? value.toFixed(1) : whole(value))
export const two = (value: number) => (Number.isNaN(value) ? "" : value.toFixed(2))

export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

/** Rounds of one operation: the bursts of each way, in the order of the rounds. */
export type Rounds = Readonly<Record<string, ReadonlyArray<Burst>>>

const verdictOf = (ratio: number, { aim, must }: Target): string => {
  if (must === undefined && aim === undefined) return "none"
  if (must !== undefined && ratio < must) return `misses ${must}`
  if (aim !== undefined && ratio < aim)
    return must === undefined ? `below its aim ${aim}` : `reaches ${must}, aim ${aim}`
  return `reaches ${aim ?? must}`
}

const costOf = ({ cost }: Burst): number => (cost === undefined ? Number.NaN : cost.service + cost.database)

/**
 * One row per target. Ratios are computed within each round, because the machine changes between rounds; the target applies to
 * their median. It also shows the inverse ratio of processor time, which a busy machine changes less.
 */
const ratioRows = ({ targets }: Pick<Operation, "targets">, rounds: Rounds) =>
  targets.flatMap((target) => {
    const numerators = rounds[target.of] ?? []
    const denominators = rounds[target.to] ?? []
    const ratios = numerators.flatMap((burst, index) => {
      const other = denominators[index]
      return other === undefined ? [] : [burst.perSecond / other.perSecond]
    })
    if (ratios.length === 0) return [[`${target.of} : ${target.to}`, "", "", "", "not measured here"]]
    const middle = median(ratios)
    const spread = `${two(Math.min(...ratios))} to ${two(Math.max(...ratios))}`
    const byCost = median(denominators.map(costOf)) / median(numerators.map(costOf))
    return [[`${target.of} : ${target.to}`, two(middle), spread, two(byCost), verdictOf(middle, target)]]
  })

/** The tables of one operation as Markdown. */
export const section = (operation: Operation, rounds: Rounds): string => {
  const rows = Object.entries(rounds).map(([way, bursts]) => {
    const rates = bursts.map(({ perSecond }) => perSecond)
    return [
      way,
      whole(median(rates)),
      `${whole(Math.min(...rates))} to ${whole(Math.max(...rates))}`,
      millis(median(bursts.map(({ p50 }) => p50))),
      millis(median(bursts.map(({ p99 }) => p99))),
      whole(median(bursts.map(({ cost }) => cost?.service ?? Number.NaN))),
      whole(median(bursts.map(({ cost }) => cost?.database ?? Number.NaN))),
      String(bursts.reduce((sum, { failures }) => sum + failures, 0)),
    ]
  })
  const ratios = ratioRows(operation, rounds)
  return [
    `### ${operation.name}`,
    table(["By", "per second", "rounds", "p50 ms", "p99 ms", "process µs", "PostgreSQL µs", "failed"], rows),
    ...(ratios.length === 0 ? [] : [table(["Ratio", "median", "rounds", "by processor", "target"], ratios)]),
  ].join("\n\n")
}

/** The machine of a run. Results have one section per machine. */
const machine = `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`

/** The machine, and how the figures were measured. */
export const heading = (options: {
  readonly rounds: number
  readonly seconds: number
  readonly scale: string
}): string =>
  [
    `## ${machine}`,
    `${new Date().toISOString().slice(0, 10)}, Node.js ${process.version}. ` +
      `${options.rounds} rounds of ${options.seconds} s, interleaved, database "${options.scale}". ` +
      (pinned ? "Servers were pinned to one core, the load to another; the database used all." : "Nothing was pinned."),
  ].join("\n\n")

/** Adds a run to the results, newest first. It replaces the previous run of the same machine. */
export const withRun = (results: string, run: string): string => {
  const [title = "# Results", ...runs] = results.split(/\n(?=## )/).map((part) => part.trim())
  const [machineOfRun] = run.split("\n")
  const others = runs.filter((other) => other.split("\n")[0] !== machineOfRun)
  return `${[title, run.trim(), ...others].join("\n\n")}\n`
}

/** A table of single figures. */
export const figures = (title: string, rows: ReadonlyArray<readonly [string, string]>): string =>
  [`### ${title}`, table(["Measure", "Value"], rows)].join("\n\n")

/** One row per operation: the median rates of two ways, and the ratio of the second to the first within each round. */
export const comparison = (title: string, of: string, to: string, results: ReadonlyMap<string, Rounds>): string => {
  const rows = [...results].map(([name, rounds]) => {
    const [target] = ratioRows({ targets: [{ of, to }] }, rounds)
    const rateOf = (way: string) => whole(median((rounds[way] ?? []).map(({ perSecond }) => perSecond)))
    return [name, rateOf(to), rateOf(of), ...(target ?? []).slice(1, 4)]
  })
  return [`### ${title}`, table(["Operation", to, of, `${of} : ${to}`, "rounds", "by processor"], rows)].join("\n\n")
}
