/**
 * The fixture of most faults: two nodes, two organizations, healthy receivers, one that fails first and one that is
 * deleted.
 */
import { Effect } from "effect"
import { check } from "./Checker.ts"
import type { Violation } from "./Checker.ts"
import { readServiceRecords } from "./Evidence.ts"
import type { Endpoint, Evidence } from "./Evidence.ts"
import { call, clock, endpoint, open, tenant, until } from "./Installation.ts"
import type { Installation, Server } from "./Installation.ts"
import * as Load from "./Load.ts"
import type { LimitsInMillis } from "./nodeProcess.ts"
import type { Random } from "./Random.ts"
import * as Receivers from "./Receiver.ts"

/** Parameters of a fault. */
export interface ScenarioOptions {
  readonly server: Server
  readonly random: Random
  /** Duration of a fault under load. */
  readonly seconds: number
  readonly perSecond: number
  readonly limits: LimitsInMillis
  /** Pending deliveries of the hanging endpoint in the fairness scenario. */
  readonly backlog: number
}

/** Result of a fault. */
export interface Verdict {
  readonly figures: Readonly<Record<string, string | number>>
  readonly violations: ReadonlyArray<Violation>
}

/** The service's default limits in milliseconds. */
export const REAL = { lease: 60_000, timeout: 30_000 } as const

/** Returns the duration of a lease in milliseconds. */
export const leaseOf = ({ limits }: ScenarioOptions) => limits.lease ?? REAL.lease

/** Creates the fixture on an installation and starts its nodes. */
export const fixtureOn = Effect.fnUntraced(function* (
  installation: Installation,
  setting: ScenarioOptions,
  env: Record<string, string> = {},
) {
  const receiver = yield* Receivers.start
  const one = yield* installation.node("one", env)
  const two = yield* installation.node("two", env)
  const nodes = [one, two] as const
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const acme = yield* tenant(installation, one, "Acme")
  const bolt = yield* tenant(installation, two, "Bolt")
  yield* receiver.behave("acme-slow", { kind: "respond", statuses: [204], delayMillis: 60 })
  yield* receiver.behave("acme-twice", { kind: "respond", statuses: [500, 200] })
  const endpoints = [
    yield* endpoint(one, acme, receiver, { key: "acme-all" }),
    yield* endpoint(one, acme, receiver, { key: "acme-slow", eventNames: ["CUSTOMER_CREATION"] }),
    yield* endpoint(two, acme, receiver, { key: "acme-twice", eventNames: ["COMPONENT_CREATED"] }),
    yield* endpoint(two, bolt, receiver, { key: "bolt-all" }),
    yield* endpoint(one, bolt, receiver, { key: "bolt-ends", eventNames: ["*"] }),
  ]
  const begin = Load.begin({
    installation,
    nodes,
    tenants: [acme, bolt],
    perSecond: setting.perSecond,
    random: setting.random,
  })
  return { setting, installation, receiver, nodes, tenants: [acme, bolt], endpoints, begin }
})

/** An open fixture. */
type Fixture = Effect.Success<ReturnType<typeof fixtureOn>>

/** Opens an installation and creates the fixture on it. */
export const openFixture = (setting: ScenarioOptions, env: Record<string, string> = {}) =>
  Effect.flatMap(open(setting.server, setting.limits), (installation) => fixtureOn(installation, setting, env))

/** Deletes the endpoint `bolt-ends`; retries until a node confirms that it is deleted. */
export const deleteEndingEndpoint = Effect.fnUntraced(function* ({ endpoints, nodes, tenants }: Fixture) {
  const ending = endpoints.at(-1)
  const token = tenants[1]?.token ?? ""
  if (ending === undefined) return
  yield* until("an endpoint is deleted", async () => {
    const node = nodes.find(({ isReady }) => isReady())
    if (node === undefined) return false
    const response = await fetch(`${node.core}/api/webhooks/${ending.id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    }).catch(() => undefined)
    return response !== undefined && (response.status === 204 || response.status === 404)
  })
  ending.removedAt = clock()
})

/** Waits until the endpoints have no pending deliveries; returns `false` if some remain after the time limit. */
export const waitUntilDrained = ({ sql }: Installation, endpoints: ReadonlyArray<Endpoint>, limitMillis: number) =>
  Effect.promise(async () => {
    const ids = endpoints.filter(({ expects }) => expects === "success").map(({ id }) => id)
    const deadline = Date.now() + limitMillis
    for (;;) {
      const left = await Effect.runPromise(
        sql<{ count: number }>`
          SELECT (SELECT count(*) FROM webhook_outbox)::int
            + (SELECT count(*) FROM webhook_queue WHERE endpoint_id = ANY(${ids}::uuid[]))::int AS count`.pipe(
          Effect.map(([row]) => row?.count ?? 0),
          Effect.catch(() => Effect.succeed(-1)),
        ),
      )
      if (left === 0) return true
      if (Date.now() > deadline) return false
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })

const percentile = (sorted: ReadonlyArray<number>, share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)

/** Computes the milliseconds from each event to its first request per endpoint: median, 99th percentile and maximum. */
export const lagsOf = ({ arrivals, feed }: Pick<Evidence, "arrivals" | "feed">) => {
  const began = new Map(feed.map(({ id, timestamp }) => [id, Date.parse(timestamp)]))
  const first = new Map<string, number>()
  for (const { at, headers, key } of arrivals) {
    const pair = `${key}/${headers["webhook-id"]}`
    if (!first.has(pair)) first.set(pair, at - (began.get(headers["webhook-id"] ?? "") ?? at))
  }
  const sorted = [...first.values()].toSorted((a, b) => a - b)
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), longest: percentile(sorted, 1) }
}

/** Collects the evidence and checks it. */
export const checkEvidence = Effect.fnUntraced(function* (
  {
    endpoints,
    installation,
    nodes,
    receiver,
    tenants,
  }: Pick<Fixture, "endpoints" | "installation" | "nodes" | "receiver" | "tenants">,
  writes: Evidence["writes"],
  beginsWithin?: number,
) {
  const node = nodes.find(({ isReady }) => isReady()) ?? nodes[0]
  const evidence: Evidence = {
    endpoints,
    writes,
    ...(yield* readServiceRecords(node.core, tenants)),
    arrivals: receiver.arrivals,
    crashes: installation.crashes,
  }
  const lags = lagsOf(evidence)
  const taken = Map.groupBy(
    evidence.arrivals.filter(({ status }) => status !== null && status < 300),
    ({ headers, key }) => `${key}/${headers["webhook-id"]}`,
  )
  const count = (outcome: string) => writes.filter((write) => write.outcome === outcome).length
  const verdict: Verdict = {
    figures: {
      "writes ok": count("ok"),
      unknown: count("unknown"),
      rejected: count("rejected") + count("rolled back"),
      events: evidence.feed.length,
      requests: evidence.arrivals.length,
      recorded: evidence.history.length,
      duplicates: [...taken.values()].reduce((sum, requests) => sum + requests.length - 1, 0),
      "lag p50/p99/max ms": `${lags.p50}/${lags.p99}/${lags.longest}`,
    },
    violations: check(evidence, beginsWithin),
  }
  return { evidence, verdict }
})

/** Stops the load, waits for pending deliveries and checks the evidence. */
export const conclude = Effect.fnUntraced(function* (
  fixture: Fixture,
  load: Load.Load,
  limitMillis: number,
  beginsWithin?: number,
) {
  yield* load.stop
  const stopped = performance.now()
  const isDrained = yield* waitUntilDrained(fixture.installation, fixture.endpoints, limitMillis)
  const millis = Math.round(performance.now() - stopped)
  // The receiver's last messages may still be in flight.
  yield* Effect.sleep(200)
  const { evidence, verdict } = yield* checkEvidence(fixture, load.writes, beginsWithin)
  const undelivered = isDrained
    ? []
    : [{ invariant: "I1", detail: `deliveries were still pending after ${millis} ms` } as const]
  return {
    evidence,
    verdict: {
      figures: { ...verdict.figures, "drained ms": millis },
      violations: [...undelivered, ...verdict.violations],
    } satisfies Verdict,
  }
})

/** Creates a component, which emits one event. */
export const component = (fixture: Pick<Fixture, "nodes" | "tenants">, name: string) =>
  call("POST", `${fixture.nodes[0].core}/api/components`, fixture.tenants[0]?.token ?? "", { name, version: "1" })
