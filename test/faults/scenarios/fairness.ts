/** Fault: one endpoint hangs with a large backlog, next to 200 healthy endpoints. */
import { Effect } from "effect"
import type { Violation } from "../support/Checker.ts"
import { call, endpoint, open, tenant } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { waitUntilDrained, checkEvidence } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const HEALTHY = 200
const MAX_CONCURRENT_PER_ENDPOINT = 4
const MAX_P99_MILLIS = 2_000
const MAX_SECONDS = 30

/** Emits one event per second for all healthy endpoints while the hanging endpoint uses its concurrency limit. */
export const fairness = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const { sql } = installation
  const receiver = yield* Receivers.start
  const one = yield* installation.node("one")
  const two = yield* installation.node("two")
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const acme = yield* tenant(installation, one, "Acme")
  yield* receiver.behave("hangs", { kind: "hold" })
  const hanging = yield* endpoint(one, acme, receiver, {
    key: "hangs",
    eventNames: ["LICENSE_ARCHIVED"],
    expects: "attempt",
  })
  const healthy = yield* Effect.forEach(
    Array.from({ length: HEALTHY }, (_, number) => `healthy-${number}`),
    (key) => endpoint(two, acme, receiver, { key, eventNames: ["COMPONENT_CREATED"] }),
    { concurrency: 8 },
  )
  const endpoints = [hanging, ...healthy]

  yield* call("POST", `${one.core}/api/webhooks/${hanging.id}/test`, acme.token)
  yield* Effect.orDie(sql`
    INSERT INTO webhook_queue (organization_id, id, endpoint_id, event_id, event_name, attempt, due_at)
    SELECT organization_id, gen_random_uuid(), ${hanging.id}, id, type, 1, occurred_at
    FROM events, generate_series(1, ${setting.backlog}::int)
    WHERE organization_id = ${acme.organizationId} AND type = 'WEBHOOK_ENDPOINT_TESTED'`)
  yield* Effect.orDie(sql`
    UPDATE webhook_lanes SET head_due_at = ${new Date()} WHERE endpoint_id = ${hanging.id}`)
  yield* Effect.sleep(3_000)

  const seconds = Math.min(setting.seconds, MAX_SECONDS)
  for (let turn = 0; turn < seconds; turn++) {
    yield* call("POST", `${(turn % 2 === 0 ? one : two).core}/api/components`, acme.token, {
      name: `part ${turn}`,
      version: "1",
    })
    yield* Effect.sleep(1_000)
  }
  const isDrained = yield* waitUntilDrained(installation, healthy, 15_000)
  yield* Effect.sleep(200)

  // Ignores violations of the hanging endpoint, which another fault covers.
  const { evidence } = yield* checkEvidence(
    { endpoints, installation, nodes: [one, two], receiver, tenants: [acme] },
    [],
  )
  const began = new Map(evidence.feed.map(({ id, timestamp }) => [id, Date.parse(timestamp)]))
  const lags = evidence.arrivals
    .filter(({ key }) => key !== "hangs")
    .map(({ at, headers }) => at - (began.get(headers["webhook-id"] ?? "") ?? 0))
    .toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(lags[Math.min(lags.length - 1, Math.floor(lags.length * share))] ?? Infinity)
  // Maximum number of concurrent requests to the hanging endpoint.
  const concurrent = receiver
    .of("hangs")
    .reduce(
      (maximum, { at }, _, all) =>
        Math.max(maximum, all.filter((other) => other.at <= at && (other.goneAt ?? Infinity) > at).length),
      0,
    )
  const violations: Array<Violation> = []
  if (!isDrained || lags.length !== seconds * HEALTHY) {
    violations.push({ invariant: "I1", detail: `${lags.length} of ${seconds * HEALTHY} deliveries arrived` })
  }
  if (at(0.99) >= MAX_P99_MILLIS) violations.push({ invariant: "I1", detail: `p99 of the lag is ${at(0.99)} ms` })
  if (concurrent > MAX_CONCURRENT_PER_ENDPOINT)
    violations.push({ invariant: "I3", detail: `${concurrent} requests to one endpoint were open at once` })
  const result: Verdict = {
    figures: {
      backlog: setting.backlog,
      healthy: HEALTHY,
      deliveries: lags.length,
      "lag p50/p99/max ms": `${at(0.5)}/${at(0.99)}/${at(1)}`,
      "concurrent hanging requests": concurrent,
    },
    violations,
  }
  return result
})
