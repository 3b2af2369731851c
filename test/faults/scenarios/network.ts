/** Faults: the network between the nodes and their database is slow and lossy, cut, or stalled beyond a lease. */
import { Effect } from "effect"
import type { Violation } from "../support/Checker.ts"
import { degradableLine } from "../support/line.ts"
import { call, clock, endpoint, open, tenant, until } from "../support/Installation.ts"
import type { AnyNode, Installation } from "../support/Installation.ts"
import * as Load from "../support/Load.ts"
import * as Receivers from "../support/Receiver.ts"
import { conclude, leaseOf } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** Short limits, because the fault would last for minutes with the real lease. */
const SHORT = { lease: 22_000, timeout: 2_000 } as const
const CUT_MILLIS = 5_000

// Records the current leases: their deliveries may be repeated, because the node cannot store its results.
const recordLeases = Effect.fnUntraced(function* ({ crashes, leases }: Installation, node: AnyNode) {
  const at = clock()
  crashes.push({ node: node.name, kind: "stopped", at, leases: yield* leases })
  return crashes.at(-1)?.leases.size ?? 0
})

/** Separates one of two nodes from its database during deliveries, first by cut connections, then by a stall. */
export const partition = Effect.fnUntraced(function* (given: ScenarioOptions) {
  const setting: ScenarioOptions = { ...given, limits: { ...SHORT, ...given.limits } }
  const installation = yield* open(setting.server, setting.limits)
  const receiver = yield* Receivers.start
  const wire = yield* degradableLine(installation.url, setting.random)
  const away = yield* installation.node("away", { SERVICE_DATABASE_URL: wire.url })
  const near = yield* installation.node("near")
  yield* Effect.all([away.start, near.start], { concurrency: 2 })
  const acme = yield* tenant(installation, near, "Acme")
  const endpoints = yield* Effect.forEach(["fast", "slow", "slower", "other"], (key, index) =>
    Effect.gen(function* () {
      // Slow enough that some responses are not stored yet when the line is cut.
      yield* receiver.behave(key, { kind: "respond", statuses: [204], delayMillis: index * 50 })
      return yield* endpoint(near, acme, receiver, { key })
    }),
  )
  const nodes = [near, away] as const
  const begin = Load.begin({
    installation,
    nodes: [near],
    tenants: [acme],
    perSecond: 15,
    random: setting.random,
  })
  const fixture = { setting, installation, receiver, nodes, tenants: [acme], endpoints, begin }
  const load = yield* begin
  yield* Effect.sleep(3_000)

  const cutLeases = yield* recordLeases(installation, away)
  yield* Effect.sync(wire.cut)
  yield* Effect.sleep(CUT_MILLIS)
  yield* Effect.sync(wire.mend)
  yield* Effect.sleep(4_000)

  yield* Effect.sync(wire.hold)
  const heldLeases = yield* recordLeases(installation, away)
  yield* Effect.sleep(leaseOf(setting) + 5_000)
  yield* Effect.sync(wire.flow)
  const back = clock()
  yield* Effect.promise(async () => {
    const deadline = Date.now() + 20_000
    while (Date.now() < deadline) {
      const response = await fetch(`${away.internal}/health/ready`).catch(() => undefined)
      if (response?.status === 200) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })
  const readyAfter = Math.round(clock() - back)
  yield* until("the separated node responds", async () => {
    const reply = await fetch(`${away.core}/api/customers?limit=1`, {
      headers: { authorization: `Bearer ${acme.token}` },
    }).catch(() => undefined)
    return reply?.status === 200
  })
  const { evidence, verdict } = yield* conclude(fixture, load, leaseOf(setting) + 15_000)
  const figures: Verdict["figures"] = verdict.figures
  const repeated = Number(figures["duplicates"])
  // Attempts that were stored although another node had completed the same attempt.
  const late = [
    ...Map.groupBy(
      evidence.history.filter(({ state }) => state === "Success"),
      ({ attempt, deliveryId }) => `${deliveryId}/${attempt}`,
    ).values(),
  ].reduce((sum, same) => sum + same.length - 1, 0)
  const bounds: Array<Violation> = []
  if (repeated > cutLeases + heldLeases) {
    bounds.push({
      invariant: "I8",
      detail: `${repeated} requests were repeated with ${cutLeases + heldLeases} leases open`,
    })
  }
  const result: Verdict = {
    figures: {
      "leases open at the cut": cutLeases,
      "leases open at the stall": heldLeases,
      "stalled s": (leaseOf(setting) + 5_000) / 1000,
      "ready after ms": readyAfter,
      "recorded late": late,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})

const LATENCY = { millis: 100, jitter: 50, lost: 0.05 } as const
// A claim is released if its exchange has not begun after 5 s; then it waits up to 1 s for the concurrency limit.
const MAX_START_MILLIS = 6_500
const WRITES_PER_SECOND = 4
const MAX_LATENCY_SECONDS = 30
const MAX_WRITE_MILLIS = 10_000

/** Delays every database response by 200 ms, plus or minus 100 ms, and loses 5 % of packets. */
export const latency = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const receiver = yield* Receivers.start
  const wire = yield* degradableLine(installation.url, setting.random)
  const one = yield* installation.node("one", { SERVICE_DATABASE_URL: wire.url })
  const two = yield* installation.node("two", { SERVICE_DATABASE_URL: wire.url })
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const acme = yield* tenant(installation, one, "Acme")
  const bolt = yield* tenant(installation, two, "Bolt")
  yield* receiver.behave("twice", { kind: "respond", statuses: [500, 200] })
  const endpoints = [
    yield* endpoint(one, acme, receiver, { key: "all" }),
    yield* endpoint(one, acme, receiver, { key: "twice", eventNames: ["COMPONENT_CREATED"] }),
    yield* endpoint(two, bolt, receiver, { key: "bolt" }),
  ]
  const nodes = [one, two] as const
  yield* Effect.sync(() => wire.degrade(LATENCY))
  const began = performance.now()
  yield* call("GET", `${one.core}/api/customers?limit=1`, acme.token)
  const read = Math.round(performance.now() - began)
  const begin = Load.begin({
    installation,
    nodes,
    tenants: [acme, bolt],
    perSecond: WRITES_PER_SECOND,
    random: setting.random,
  })
  const fixture = { setting, installation, receiver, nodes, tenants: [acme, bolt], endpoints, begin }
  const load = yield* begin
  yield* Effect.sleep(Math.min(setting.seconds, MAX_LATENCY_SECONDS) * 1000)
  const { verdict } = yield* conclude(fixture, load, 30_000, MAX_START_MILLIS)
  const writes = load.writes.filter(({ outcome }) => outcome === "ok").map(({ millis }) => millis)
  const sorted = writes.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  const unknown = load.writes.filter(({ outcome }) => outcome === "unknown").length
  const bounds: Array<Violation> = []
  if (unknown > 0) bounds.push({ invariant: "I10", detail: `${unknown} writes failed because of the slow network` })
  if (at(1) > MAX_WRITE_MILLIS) bounds.push({ invariant: "I10", detail: `a write took ${at(1)} ms` })
  const result: Verdict = {
    figures: {
      network: "200 ms +- 100, 5 % retransmitted, by a proxy",
      "first read ms": read,
      "write p50/p99/max ms": `${at(0.5)}/${at(0.99)}/${at(1)}`,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
