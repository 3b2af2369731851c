/** Tables of a run. */
import { arch, cpus, platform, totalmem } from "node:os"
import type { Operation, Target } from "./plan.ts"
import { pinned } from "./processes.ts"
import type { ProcessorTime } from "./processes.ts"

/** What one burst showed. */
export interface Burst {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
  /** Microseconds of processor for each request, where the system tells. */
  readonly cost?: ProcessorTime | undefined
}

/** The middle value. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

const whole = (value: number) => (Number.isNaN(value) ? "" : Math.round(value).toLocaleString("en-US"))
const millis = (value: number) => (value < 100 ? value.toFixed(1) : whole(value))
const two = (value: number) => (Number.isNaN(value) ? "" : value.toFixed(2))

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

/** Rounds of one operation: for each way its bursts, in the order of the rounds. */
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
 * Ratios are taken inside each round, because the machine changes between rounds; their median counts. What each costs the processor
 * is told beside it, the other way round: it says the same, and a busy machine changes it less.
 */
const ratioRows = ({ targets }: Operation, rounds: Rounds) =>
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

/** The figures of one operation as Markdown. */
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
    table(["Who", "per second", "rounds", "p50 ms", "p99 ms", "process µs", "PostgreSQL µs", "failed"], rows),
    ...(ratios.length === 0 ? [] : [table(["Ratio", "median", "rounds", "by processor", "target"], ratios)]),
  ].join("\n\n")
}

/** Where and how the figures were taken. */
export const heading = (options: {
  readonly rounds: number
  readonly seconds: number
  readonly scale: string
}): string =>
  [
    `## ${new Date().toISOString().slice(0, 10)}`,
    `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}, Node.js ${process.version}. ` +
      `${options.rounds} rounds of ${options.seconds} s, interleaved, database "${options.scale}". ` +
      (pinned ? "Servers were pinned to one core, the load to another; the database used all." : "Nothing was pinned."),
  ].join("\n\n")

/** A small table of single figures. */
export const figures = (title: string, rows: ReadonlyArray<readonly [string, string]>): string =>
  [`### ${title}`, table(["What", "Figure"], rows)].join("\n\n")
