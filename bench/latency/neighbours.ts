/**
 * The latency of single checks of one organization, beside another one that sends as much of a kind as the service takes. Each round
 * compares it with the latency just before.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { open, requestBytes } from "../../test/support/RawConnection.ts"
import { burstAt } from "../burst.ts"
import type { Aim } from "../burst.ts"
import { busyness } from "../processes.ts"
import { median, millis, table, two, whole } from "../report.ts"
import { call } from "../world.ts"

interface Neighbour {
  readonly kind: string
  readonly connections: number
}

const neighbours: Readonly<Record<string, Neighbour>> = {
  "neighbours: pages of 200 events": { kind: "events200", connections: 30 },
  "neighbours: creates": { kind: "component", connections: 100 },
  "neighbours: pages of 200 instances": { kind: "instances200", connections: 30 },
  "neighbours: pages of 200 customers": { kind: "customers200", connections: 30 },
  "neighbours: pages of 200 entitlements": { kind: "entitlements200", connections: 30 },
  "neighbours: refused bodies of 29,900 values": { kind: "refusal", connections: 8 },
  "neighbours: checks of 50 entitlements": { kind: "check50", connections: 40 },
  "neighbours: consumes of 50 entitlements": { kind: "consume50", connections: 40 },
  "neighbours: reads": { kind: "customer", connections: 200 },
}

/** The names of the operations, for `--only`. */
export const namesOfNeighbours = Object.keys(neighbours)

const PAGE = 200
const MUST_OF_P50 = 3
const MUST_OF_P99 = 5
// The neighbour connects, and warms up for a second.
const BEFORE_MILLIS = 2_000
const PAUSE_MILLIS = 5

/** Gives an organization full pages: instances and entitlements of its own, and an event for each. */
const populate = async (origin: string, token: string) => {
  for (const kind of ["instances", "entitlements"] as const) {
    const page = await call("GET", `${origin}/api/${kind}?limit=${PAGE}`, token)
    for (let n = (page["items"] as ReadonlyArray<unknown>).length; n < PAGE; n++) {
      await call("POST", `${origin}/api/${kind}`, token, {
        name: `Neighbour ${n}`,
        slug: `neighbour-${n}`,
        ...(kind === "instances"
          ? {
              customerSlug: "customer-1",
              licenseSlug: "pro",
              startLicenseDate: "2025-01-01T00:00:00Z",
              endLicenseDate: "2099-01-01T00:00:00Z",
            }
          : { type: "NUMBER" }),
      })
    }
  }
}

/** The milliseconds of single checks, each sent some time after the response to the one before. */
const probe = async (origin: string, request: Buffer, seconds: number) => {
  const connection = await open(origin)
  const latencies: Array<number> = []
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    const from = performance.now()
    const status = await connection.send(request)
    if (status !== 200) throw new Error(`A check was answered with ${status}`)
    latencies.push(performance.now() - from)
    await sleep(PAUSE_MILLIS)
  }
  connection.close()
  latencies.sort((a, b) => a - b)
  const at = (part: number) => latencies[Math.floor(latencies.length * part)] ?? NaN
  return { p50: at(0.5), p99: at(0.99), max: at(1 - Number.EPSILON) }
}

type Probed = Awaited<ReturnType<typeof probe>>

interface Round {
  readonly quiet: Probed
  readonly beside: Probed
  readonly perSecond: number
}

const HEAD = ["Beside", "its rate", "quiet p50", "p50 ms", "p99 ms", "max ms", "p50 ratio", "p99 ratio", "target"]

const rowOf = (name: string, rounds: ReadonlyArray<Round>) => {
  const of = (figure: (round: Round) => number) => median(rounds.map(figure))
  const p50 = of(({ beside, quiet }) => beside.p50 / quiet.p50)
  const p99 = of(({ beside, quiet }) => beside.p99 / quiet.p99)
  const isReached = p50 <= MUST_OF_P50 && p99 <= MUST_OF_P99
  return [
    name.replace("neighbours: ", ""),
    whole(of(({ perSecond }) => perSecond)),
    ...[
      of(({ quiet }) => quiet.p50),
      of(({ beside }) => beside.p50),
      of(({ beside }) => beside.p99),
      of(({ beside }) => beside.max),
    ].map(millis),
    two(p50),
    two(p99),
    `${isReached ? "reaches" : "misses"} ${MUST_OF_P50} and ${MUST_OF_P99}`,
  ]
}

/** Measures beside the neighbours whose name contains a text. Prints and returns a section, or none. */
export const measureNeighbours = async (
  aim: Aim,
  { only, rounds, seconds }: { readonly only: string; readonly rounds: number; readonly seconds: number },
): Promise<ReadonlyArray<string>> => {
  const names = namesOfNeighbours.filter((name) => name.includes(only))
  const [token = "", other = ""] = aim.tokens
  const origin = aim.servers[0]?.origins.core ?? ""
  if (names.length === 0) return []
  await populate(origin, other)
  const request = requestBytes("POST", "/api/instances/instance-1/check", token, {
    checks: [{ entitlement: "entitlement-1" }],
  })
  await probe(origin, request, 3)
  const results = new Map(names.map((name): [string, Array<Round>] => [name, []]))
  for (let round = 0; round < rounds; round++) {
    console.error(`neighbours: round ${round + 1} of ${rounds}, load average ${busyness()}`)
    for (const name of names) {
      const { connections, kind } = neighbours[name] as Neighbour
      const quiet = await probe(origin, request, seconds / 2)
      const attack = burstAt({ ...aim, tokens: [other] }, { by: "keyshelf", load: kind }, connections, seconds + 1)
      await sleep(BEFORE_MILLIS)
      const beside = await probe(origin, request, seconds)
      const burst = await attack
      const perSecond = kind === "refusal" ? (burst?.failures ?? 0) / (seconds + 1) : (burst?.perSecond ?? 0)
      results.get(name)?.push({ quiet, beside, perSecond })
    }
  }
  const rows = [...results].map(([name, rounds]) => rowOf(name, rounds))
  const section = ["### A single check beside another organization", table(HEAD, rows)].join("\n\n")
  console.log(`${section}\n`)
  return [section]
}
