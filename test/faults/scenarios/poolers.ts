/**
 * Fault: a node is suspended, then killed, where its pooled connections do not identify it. Another node must take over
 * its deliveries within 10 s, but only after the kill.
 */
import { Effect } from "effect"
import { checkEvidence, waitUntilDrained } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"
import type { Violation } from "../support/Checker.ts"
import { call, endpoint, open, tenant, until } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { pgBouncer, whyNoPgBouncer } from "../../support/PgBouncer.ts"

/** The maximum number in flight for one endpoint. While a dead node's claims count, the endpoint gets nothing else. */
const PER_ENDPOINT = 4
const MAX_TAKEOVER_MILLIS = 10_000
/** Longer than a terminated node's connections must be missing. */
const SUSPENDED_MILLIS = 9_000

/** The settings by which a node knows of a pooler. */
const MODES = {
  "without prepared statements": () => Effect.succeed({ SERVICE_DATABASE_PREPARE: "false" }),
  "with a direct address for LISTEN": (url: string) => Effect.succeed({ SERVICE_DATABASE_LISTEN_URL: url }),
  "behind PgBouncer": pgBouncer,
}

const takeOver = Effect.fnUntraced(function* (setting: ScenarioOptions, mode: keyof typeof MODES) {
  const installation = yield* open(setting.server)
  const env = yield* MODES[mode](installation.url)
  const receiver = yield* Receivers.start
  const victim = yield* installation.node("victim", env)
  const heir = yield* installation.node("heir", env)
  yield* victim.start
  const acme = yield* tenant(installation, victim, "Acme")
  const all = yield* endpoint(victim, acme, receiver, { key: "all" })
  const create = (name: string, through = victim) =>
    call("POST", `${through.core}/api/components`, acme.token, { name, version: "1" })

  yield* receiver.behave("all", { kind: "hold" })
  yield* Effect.forEach(Array.from({ length: PER_ENDPOINT }), (_, index) => create(`held ${index}`))
  yield* until("the victim sends all that it may", () => receiver.arrivals.length === PER_ENDPOINT)
  yield* heir.start
  yield* create("waits", heir)

  yield* victim.freeze
  yield* Effect.sleep(SUSPENDED_MILLIS)
  const sentWhileSuspended = receiver.arrivals.length - PER_ENDPOINT
  yield* receiver.behave("all", { kind: "respond", statuses: [200] })
  const { at } = yield* victim.kill
  yield* until("the heir sends the rest", () => receiver.arrivals.length >= 2 * PER_ENDPOINT + 1, 60_000).pipe(
    Effect.exit,
  )
  const millis = Math.round((receiver.arrivals[2 * PER_ENDPOINT]?.at ?? Infinity) - at)
  const isDrained = yield* waitUntilDrained(installation, [all], 10_000)

  const { verdict } = yield* checkEvidence(
    { endpoints: [all], installation, nodes: [heir, heir], receiver, tenants: [acme] },
    [],
  )
  const bounds: Array<Violation> = []
  if (sentWhileSuspended > 0) {
    bounds.push({ invariant: "I8", detail: `${mode}: ${sentWhileSuspended} requests came while the victim lived` })
  }
  if (millis > MAX_TAKEOVER_MILLIS || !isDrained) {
    bounds.push({ invariant: "I10", detail: `${mode}: the endpoint waited ${millis} ms after its node was killed` })
  }
  return { millis, violations: [...bounds, ...verdict.violations] }
})

/** Kills a node with claimed deliveries in each mode. */
export const poolers = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const all = Object.keys(MODES) as ReadonlyArray<keyof typeof MODES>
  const modes = all.filter((mode) => mode !== "behind PgBouncer" || whyNoPgBouncer === undefined)
  const taken = yield* Effect.forEach(modes, (mode) => Effect.scoped(takeOver(setting, mode)), { concurrency: 3 })
  const result: Verdict = {
    figures: Object.fromEntries(modes.map((mode, index) => [`${mode} ms`, taken[index]?.millis ?? 0])),
    violations: taken.flatMap(({ violations }) => violations),
  }
  return result
})
