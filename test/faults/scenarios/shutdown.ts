/** Faults: nodes are shut down, or database connections terminated, under load. Neither may cause a duplicate. */
import { Effect } from "effect"
import { conclude, deleteEndingEndpoint, leaseOf, openFixture } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** Requests drain for up to 10 s, then deliveries do. */
const MAX_SHUTDOWN_MILLIS = 22_000
// No lease was lost, so no delivery waits for one; a second attempt waits 5 s.
const MAX_DRAIN_MILLIS = 8_000

/** Stops one of two nodes with SIGTERM every few seconds and restarts it. */
export const shutdown = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const { random, seconds } = setting
  const fixture = yield* openFixture(setting)
  const load = yield* fixture.begin
  const began = performance.now()
  const durations: Array<number> = []
  const failures: Array<string> = []
  for (let turn = 0; (performance.now() - began) / 1000 < seconds; turn++) {
    yield* Effect.sleep(random.between(1000, 3000))
    const node = fixture.nodes[turn % 2 === 0 ? 0 : 1]
    const { code, millis, signal } = yield* node.terminate
    durations.push(millis)
    if (code !== 0) failures.push(`${node.name} exited with ${code ?? signal}`)
    if (millis > MAX_SHUTDOWN_MILLIS) failures.push(`${node.name} took ${millis} ms to exit`)
    yield* node.start
    if (turn === 1) yield* deleteEndingEndpoint(fixture)
  }
  const { verdict } = yield* conclude(fixture, load, MAX_DRAIN_MILLIS)
  const result: Verdict = {
    figures: { shutdowns: durations.length, "longest shutdown ms": Math.max(...durations), ...verdict.figures },
    violations: [...failures.map((detail) => ({ invariant: "I1", detail }) as const), ...verdict.violations],
  }
  return result
})

/** Terminates five of the nodes' connections to the database every second. */
export const terminations = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const { random, seconds } = setting
  const fixture = yield* openFixture(setting)
  const { sql } = fixture.installation
  const load = yield* fixture.begin
  const began = performance.now()
  let terminated = 0
  for (let turn = 0; (performance.now() - began) / 1000 < seconds; turn++) {
    yield* Effect.sleep(200)
    const rows = yield* Effect.orDie(sql<{ done: boolean }>`
      SELECT pg_terminate_backend(pid) AS done FROM (
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'keyshelf%' ORDER BY pid
        OFFSET floor(${random.next()}::float8 * (SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name LIKE 'keyshelf%')) LIMIT 1) AS victim`)
    terminated += rows.filter(({ done }) => done).length
  }
  yield* deleteEndingEndpoint(fixture)
  // A claim whose response was lost with the connection waits until its lease expires.
  const { verdict } = yield* conclude(fixture, load, leaseOf(setting) + 15_000)
  const result: Verdict = { figures: { terminated, ...verdict.figures }, violations: verdict.violations }
  return result
})
