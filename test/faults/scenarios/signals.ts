/** Fault: the signal connection is half open, so that the node must find other nodes' events by polling. */
import { Effect } from "effect"
import type { Violation } from "../support/Checker.ts"
import { databaseProxy } from "../../support/cable.ts"
import { endpoint, open, tenant } from "../support/Installation.ts"
import * as Load from "../support/Load.ts"
import * as Receivers from "../support/Receiver.ts"
import { conclude, lagsOf } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** Polling interval of one second, plus the time of the delivery itself. */
const MAX_LAG_MILLIS = 2_000
const MAX_NOTICE_MILLIS = 16_000

/** Silences the listening connection of the only dispatcher while another node writes. */
export const signals = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const receiver = yield* Receivers.start
  const wire = yield* databaseProxy(installation.url)
  const clerk = yield* installation.node("clerk", { SERVICE_ROLES: "core,platform,internal" })
  const dispatcher = yield* installation.node("dispatcher", {
    SERVICE_ROLES: "internal,dispatcher",
    SERVICE_DATABASE_LISTEN_URL: wire.url,
  })
  yield* clerk.start
  yield* dispatcher.start
  const acme = yield* tenant(installation, clerk, "Acme")
  const endpoints = [yield* endpoint(clerk, acme, receiver, { key: "all" })]
  const nodes = [clerk, dispatcher] as const
  const begin = Load.begin({
    installation,
    nodes: [clerk],
    tenants: [acme],
    perSecond: 10,
    random: setting.random,
  })
  const fixture = { setting, installation, receiver, nodes, tenants: [acme], endpoints, begin }

  const load = yield* begin
  yield* Effect.sleep(3_000)
  const silentFrom = Date.now()
  yield* Effect.sync(wire.silence)
  yield* Effect.sleep(Math.max(Math.min(setting.seconds * 1000, 30_000), 4_000))
  const { evidence, verdict } = yield* conclude(fixture, load, 10_000)
  const noticed = dispatcher.output().includes("Signal connection lost")
  const violations: Array<Violation> = [...verdict.violations]
  const during = lagsOf({
    arrivals: evidence.arrivals,
    feed: evidence.feed.filter(({ timestamp }) => Date.parse(timestamp) >= silentFrom),
  })
  if (during.longest > MAX_LAG_MILLIS) {
    violations.push({ invariant: "I1", detail: `an event waited ${during.longest} ms during the silence` })
  }
  if (!noticed && Date.now() - silentFrom > MAX_NOTICE_MILLIS) {
    violations.push({ invariant: "I1", detail: "the dispatcher did not notice the silent connection" })
  }
  const result: Verdict = {
    figures: {
      "silent lag p50/p99/max ms": `${during.p50}/${during.p99}/${during.longest}`,
      noticed: String(noticed),
      ...verdict.figures,
    },
    violations,
  }
  return result
})
