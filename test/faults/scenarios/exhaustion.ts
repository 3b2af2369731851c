/** Fault: no free connection. First the nodes' pools are exhausted, then the server's connection slots. */
import { Effect, Fiber } from "effect"
import type { Violation } from "../support/Checker.ts"
import { clock, until } from "../support/Installation.ts"
import { between, misbehaviour, probe, summarize } from "../support/Probe.ts"
import { exhaustConnections } from "../support/slots.ts"
import { conclude, leaseOf, openFixture } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const HELD_MILLIS = 6_000
// Waits are limited to 5 s for a connection, 10 s for a lock and 30 s for a request that waits for both.
const MAX_RESPONSE_MILLIS = 31_000
const MAX_RECOVERY_MILLIS = 10_000

/**
 * Runs two nodes with two connections each. First all connections wait for a lock, then all are lost and the server has
 * none left.
 */
export const exhaustion = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const fixture = yield* openFixture(setting, { SERVICE_DATABASE_POOL_SIZE: "2" })
  const { installation, nodes, tenants } = fixture
  const { sql } = installation
  const [one] = nodes
  const token = tenants[0]?.token ?? ""
  const load = yield* fixture.begin
  const writes = yield* probe((number) => ["POST", `${one.core}/api/releases`, token, { version: `0.0.${number}` }], 50)
  yield* Effect.sleep(2_000)

  const lockedFrom = clock()
  const locked = yield* Effect.forkScoped(
    Effect.orDie(
      sql.withTransaction(
        Effect.andThen(sql`LOCK TABLE releases, customers IN ACCESS EXCLUSIVE MODE`, Effect.sleep(HELD_MILLIS)),
      ),
    ),
  )
  yield* Fiber.join(locked)
  const lockedTo = clock()
  const recoveryAfter = (from: number) =>
    writes.responses
      .filter(({ at, status }) => at >= from && status === 201)
      .reduce((first, { at, millis }) => Math.min(first, at + millis), Infinity) - from
  // What has waited for the lock comes first. A recovery that takes longer is a violation below.
  const recovered = until("a write succeeds", () => recoveryAfter(lockedTo) < Infinity, MAX_RECOVERY_MILLIS)
  yield* Effect.exit(recovered)

  const slots = yield* exhaustConnections(setting.server.url)
  yield* Effect.sleep(500)
  const fullFrom = clock()
  for (let turn = 0; turn < HELD_MILLIS / 100; turn++) {
    yield* Effect.orDie(sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'keyshelf%'`)
    yield* Effect.sleep(100)
  }
  const taken = slots.held()
  const health = yield* Effect.promise(() => fetch(`${one.internal}/health/live`).then(({ status }) => status))
  const fullTo = clock()
  yield* Effect.promise(slots.giveBack)
  yield* Effect.sleep(MAX_RECOVERY_MILLIS)
  yield* writes.stop
  const { verdict } = yield* conclude(fixture, load, leaseOf(setting) + 15_000)
  const full = between(writes, fullFrom + 500, fullTo)
  const bounds: Array<Violation> = [
    ...misbehaviour("a write without a connection", writes.responses, MAX_RESPONSE_MILLIS),
  ]
  if (!full.some(({ status }) => status === 503)) {
    bounds.push({ invariant: "I10", detail: "no request got 503 although the server had no connection left" })
  }
  for (const [what, from] of [
    ["the lock", lockedTo],
    ["the full server", fullTo],
  ] as const) {
    if (recoveryAfter(from) > MAX_RECOVERY_MILLIS)
      bounds.push({ invariant: "I10", detail: `no write succeeded after ${what}` })
  }
  if (health !== 200) bounds.push({ invariant: "I10", detail: `liveness returned ${health} while the server was full` })
  const result: Verdict = {
    figures: {
      "connections taken": taken,
      "while all connections waited": summarize(between(writes, lockedFrom, lockedTo)),
      "while the server was full": summarize(full),
      "recovered after ms": `${Math.round(recoveryAfter(lockedTo))} and ${Math.round(recoveryAfter(fullTo))}`,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
