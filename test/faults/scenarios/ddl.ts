/** Fault: a schema change locks the queue's table. Other operations must not be affected. */
import { Effect, Fiber } from "effect"
import type { Violation } from "../support/Checker.ts"
import { clock } from "../support/Installation.ts"
import { between, misbehaviour, probe, summarize } from "../support/Probe.ts"
import { conclude, deleteEndingEndpoint, leaseOf, openFixture } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const MAX_LOCK_SECONDS = 30
// Results of requests sent just before the lock must be stored within their lease, else they are repeated.
const BEFORE_LEASE_ENDS_SECONDS = 7
const MAX_RESPONSE_MILLIS = 2_000
// A statement waits 10 s for a lock, and a failed step waits 5 s before the next.
const MAX_RESUME_MILLIS = 16_000

/** Holds an exclusive lock on `webhook_queue` under load, as ALTER TABLE does. */
export const ddl = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const fixture = yield* openFixture(setting)
  const { installation, nodes, receiver, tenants } = fixture
  const [one] = nodes
  const token = tenants[0]?.token ?? ""
  const load = yield* fixture.begin
  const reads = yield* probe(() => ["GET", `${one.core}/api/customers?limit=1`, token], 50)
  const writes = yield* probe(
    (number) => ["POST", `${one.core}/api/releases`, token, { version: `0.0.${number}` }],
    200,
  )
  yield* Effect.sleep(3_000)
  const seconds = Math.min(setting.seconds, MAX_LOCK_SECONDS, leaseOf(setting) / 1000 - BEFORE_LEASE_ENDS_SECONDS)
  const from = clock()
  const locked = yield* Effect.forkScoped(
    Effect.orDie(
      installation.sql.withTransaction(
        Effect.andThen(
          installation.sql`LOCK TABLE webhook_queue IN ACCESS EXCLUSIVE MODE`,
          Effect.sleep(seconds * 1000),
        ),
      ),
    ),
  )
  yield* Fiber.join(locked)
  const to = clock()
  // Two seconds into the lock no request should be in flight.
  const during = receiver.arrivals.filter(({ at }) => at > from + 2_000 && at < to - 50).length
  const deadline = to + MAX_RESUME_MILLIS
  let resumed: number | undefined
  while (resumed === undefined && clock() < deadline) {
    resumed = receiver.arrivals.find(({ at }) => at >= to)?.at
    yield* Effect.sleep(50)
  }
  yield* deleteEndingEndpoint(fixture)
  yield* reads.stop
  yield* writes.stop
  const { verdict } = yield* conclude(fixture, load, leaseOf(setting) + 15_000)
  const requests = [...between(reads, from, to), ...between(writes, from, to)]
  const bounds: Array<Violation> = [
    ...misbehaviour("a request while the queue was locked", requests, MAX_RESPONSE_MILLIS),
    ...requests
      .filter(({ status }) => status === 503)
      .map(() => ({ invariant: "I10", detail: "a request that does not use the queue got 503" }) as const),
  ]
  if (during > 0) bounds.push({ invariant: "I10", detail: `${during} requests were sent from a locked queue` })
  if (resumed === undefined) bounds.push({ invariant: "I10", detail: "deliveries did not resume after the lock" })
  const result: Verdict = {
    figures: {
      "locked s": Math.round((to - from) / 1000),
      "sent during the lock": during,
      "resumed after ms": resumed === undefined ? "never" : Math.round(resumed - to),
      "reads during the lock": summarize(between(reads, from, to)),
      "writes during the lock": summarize(between(writes, from, to)),
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
