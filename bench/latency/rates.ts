/**
 * Latency at the rates that people run: both servers get the same offered rates, shares of what fastify reaches at full load. Requests
 * arrive as those of many independent callers, and latency counts from the time when a request was due (`arrivals.mjs`).
 */
import { join } from "node:path"
import { burstAt } from "../burst.ts"
import type { Aim } from "../burst.ts"
import { busyness, cores, processorTime, startConversation } from "../processes.ts"
import { median, millis, table, two, whole } from "../report.ts"

const SHARES = [0.2, 0.4, 0.6, 0.8]
const CONNECTIONS = 64
const WARM_UP_SECONDS = 1
const MUST = 1.2

/** The requests whose latency is measured. */
const measured = { "rates: read of a customer": "customer", "rates: check of one entitlement": "check1" }

/** The names of the operations, for `--only`. */
export const namesOfRates = Object.keys(measured)

const contenders = ["keyshelf", "fastify"] as const
type Contender = (typeof contenders)[number]

interface Arrivals {
  readonly responses: number
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly p999: number
  readonly failures: number
  readonly generator: number
  readonly lateness: number
}

/** The figures of one server at one rate, with its processor time for each request in microseconds. */
interface Figures extends Arrivals {
  readonly cost: number
}

type Generator = (
  aim: Aim,
  plan: { readonly kind: string; readonly rate: number; readonly seconds: number },
) => Promise<Figures>

/** Starts the process that sends the requests. */
const startGenerator = async (): Promise<{ readonly send: Generator; readonly stop: () => Promise<void> }> => {
  const { ask, stop } = await startConversation([join(import.meta.dirname, "arrivals.mjs")], cores.load)
  const send: Generator = async ({ servers, tokens, world }, plan) => {
    const origin = servers[0]?.origins.core
    const before = processorTime(servers)
    const answer = await ask({
      ...plan,
      connections: CONNECTIONS,
      origin,
      tokens,
      warmUpSeconds: WARM_UP_SECONDS,
      world,
    })
    const after = processorTime(servers)
    const arrivals = answer as Arrivals
    if (arrivals.failures > 0) throw new Error(`${arrivals.failures} of ${arrivals.responses} requests failed`)
    return { ...arrivals, cost: ((after?.service ?? NaN) - (before?.service ?? NaN)) / arrivals.responses }
  }
  return { send, stop }
}

type Rounds = ReadonlyArray<Readonly<Record<Contender, Figures>>>

const rowsOf = (share: number, rate: number, rounds: Rounds) => {
  const of = (contender: Contender, figure: (figures: Figures) => number) =>
    median(rounds.map((round) => figure(round[contender])))
  const ratioOf = (figure: (figures: Figures) => number) =>
    median(rounds.map(({ fastify, keyshelf }) => figure(keyshelf) / figure(fastify)))
  const ratio = ratioOf(({ p99 }) => p99)
  return [
    ...contenders.map((contender) => [
      contender,
      `${share} R`,
      whole(rate),
      ...(["p50", "p95", "p99", "p999"] as const).map((part) => millis(of(contender, (figures) => figures[part]))),
      whole(of(contender, ({ cost }) => cost)),
      whole(of(contender, ({ generator }) => generator)),
      millis(of(contender, ({ lateness }) => lateness)),
    ]),
    [
      "keyshelf : fastify",
      `${share} R`,
      "",
      ...(["p50", "p95", "p99", "p999"] as const).map((part) => two(ratioOf((figures) => figures[part]))),
      two(ratioOf(({ cost }) => cost)),
      "",
      ratio <= MUST ? `p99 reaches ${MUST}` : `p99 misses ${MUST}`,
    ],
  ]
}

const HEAD = [
  "By",
  "offered",
  "per second",
  "p50 ms",
  "p95 ms",
  "p99 ms",
  "p99.9 ms",
  "process µs",
  "load µs",
  "late ms",
]

/** Measures the operations whose name contains a text. Prints and returns a section for each. */
export const measureRates = async (
  aims: Readonly<Record<Contender, Aim>>,
  { only, rounds, seconds }: { readonly only: string; readonly rounds: number; readonly seconds: number },
): Promise<ReadonlyArray<string>> => {
  const names = Object.entries(measured).filter(([name]) => name.includes(only))
  if (names.length === 0) return []
  const sections: Array<string> = []
  const generator = await startGenerator()
  for (const [name, kind] of names) {
    const results = SHARES.map((): Array<Record<Contender, Figures>> => [])
    // Compiles the code.
    for (const by of contenders) await burstAt(aims[by], { by, load: kind }, CONNECTIONS, 4)
    const full = await burstAt(aims.fastify, { by: "fastify", load: kind }, CONNECTIONS, seconds)
    if (full === undefined) throw new Error("fastify does not run")
    const rateOf = (share: number) => Math.round(full.perSecond * share)
    for (let round = 0; round < rounds; round++) {
      console.error(`${name}: round ${round + 1} of ${rounds}, load average ${busyness()}`)
      for (const [index, share] of SHARES.entries()) {
        const figures = new Map<Contender, Figures>()
        for (const by of (round + index) % 2 === 0 ? contenders : contenders.toReversed()) {
          figures.set(by, await generator.send(aims[by], { kind, rate: rateOf(share), seconds }))
        }
        const { fastify, keyshelf } = Object.fromEntries(figures) as Record<Contender, Figures>
        results[index]?.push({ fastify, keyshelf })
      }
    }
    const rows = SHARES.flatMap((share, index) => rowsOf(share, rateOf(share), results[index] ?? []))
    const about = `R is what fastify reached with ${CONNECTIONS} connections at full load: ${whole(full.perSecond)} a second.`
    const section = [`### ${name}`, about, table(HEAD, rows)].join("\n\n")
    console.log(`${section}\n`)
    sections.push(section)
  }
  await generator.stop()
  return sections
}
