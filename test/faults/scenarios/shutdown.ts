/** Nodes that are told to stop, and database connections that are terminated, under load. Neither may cost a duplicate. */
import { Effect } from "effect"
import { conclude, endOne, leaseOf, world } from "../support/World.ts"
import type { Setting, Verdict } from "../support/World.ts"

/** Requests drain for 10 s, then deliveries do. */
const LONGEST_END_MILLIS = 22_000
// Nothing was lost, so nothing waits for a lease; what needs two tries waits 5 s.
const DRAINED_WITHIN_MILLIS = 8_000

/** Tells one of two nodes to stop with SIGTERM every few seconds and starts it again. */
export const shutdown = Effect.fnUntraced(function* (setting: Setting) {
  const { random, seconds } = setting
  const stage = yield* world(setting)
  const load = yield* stage.begin
  const began = performance.now()
  const ends: Array<number> = []
  const wrong: Array<string> = []
  for (let turn = 0; (performance.now() - began) / 1000 < seconds; turn++) {
    yield* Effect.sleep(random.between(1000, 3000))
    const node = stage.nodes[turn % 2 === 0 ? 0 : 1]
    const { code, millis, signal } = yield* node.terminate
    ends.push(millis)
    if (code !== 0) wrong.push(`${node.name} ended with ${code ?? signal}`)
    if (millis > LONGEST_END_MILLIS) wrong.push(`${node.name} took ${millis} ms to end`)
    yield* node.start
    if (turn === 1) yield* endOne(stage)
  }
  const { verdict } = yield* conclude(stage, load, DRAINED_WITHIN_MILLIS)
  const result: Verdict = {
    figures: { ends: ends.length, "longest end ms": Math.max(...ends), ...verdict.figures },
    violations: [...wrong.map((detail) => ({ invariant: "I1", detail }) as const), ...verdict.violations],
  }
  return result
})

/** Terminates five of the nodes' connections to the database every second. */
export const terminations = Effect.fnUntraced(function* (setting: Setting) {
  const { random, seconds } = setting
  const stage = yield* world(setting)
  const { sql } = stage.installation
  const load = yield* stage.begin
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
  yield* endOne(stage)
  // A claim whose answer was lost with its connection waits for its lease.
  const { verdict } = yield* conclude(stage, load, leaseOf(setting) + 15_000)
  const result: Verdict = { figures: { terminated, ...verdict.figures }, violations: verdict.violations }
  return result
})
