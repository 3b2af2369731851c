/** No connection to be had: the pool of a node is used up, then the server gives none. */
import { Effect, Fiber } from "effect"
import type { Violation } from "../support/Checker.ts"
import { clock } from "../support/Installation.ts"
import { between, misbehaved, probe, toldOf } from "../support/Probe.ts"
import { takeSlots } from "../support/slots.ts"
import { conclude, leaseOf, world } from "../support/World.ts"
import type { Setting, Verdict } from "../support/World.ts"

const HELD_MILLIS = 6_000
const GAP_MILLIS = 3_000
// A connection is awaited for 5 s, a lock for 10 s, and a request that waits for both gives up after 30 s.
const LONGEST_ANSWER_MILLIS = 31_000
const BACK_WITHIN_MILLIS = 10_000

/** Two nodes with two connections each: first all of them wait for a lock, then all are lost and the server is full. */
export const exhaustion = Effect.fnUntraced(function* (setting: Setting) {
  const stage = yield* world(setting, { SERVICE_DATABASE_POOL_SIZE: "2" })
  const { installation, nodes, tenants } = stage
  const { sql } = installation
  const [one] = nodes
  const token = tenants[0]?.token ?? ""
  const load = yield* stage.begin
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
  yield* Effect.sleep(GAP_MILLIS)

  const slots = yield* takeSlots(setting.server.url)
  yield* Effect.sleep(500)
  const fullFrom = clock()
  for (let turn = 0; turn < HELD_MILLIS / 100; turn++) {
    yield* Effect.orDie(sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'keyshelf%'`)
    yield* Effect.sleep(100)
  }
  const most = slots.held()
  const health = yield* Effect.promise(() => fetch(`${one.internal}/health/live`).then(({ status }) => status))
  const fullTo = clock()
  yield* Effect.promise(slots.giveBack)
  yield* Effect.sleep(BACK_WITHIN_MILLIS)
  yield* writes.stop
  const { verdict } = yield* conclude(stage, load, leaseOf(setting) + 15_000)
  const backAt = (from: number) =>
    writes.answers
      .filter(({ at, status }) => at >= from && status === 201)
      .reduce((first, { at, millis }) => Math.min(first, at + millis), Infinity) - from
  const full = between(writes, fullFrom + 500, fullTo)
  const bounds: Array<Violation> = [
    ...misbehaved("a write without a connection", writes.answers, LONGEST_ANSWER_MILLIS),
  ]
  if (!full.some(({ status }) => status === 503)) {
    bounds.push({ invariant: "I10", detail: "nobody was refused though the server had no connection left" })
  }
  for (const [what, from] of [
    ["the lock", lockedTo],
    ["the full server", fullTo],
  ] as const) {
    if (backAt(from) > BACK_WITHIN_MILLIS) bounds.push({ invariant: "I10", detail: `no write succeeded after ${what}` })
  }
  if (health !== 200) bounds.push({ invariant: "I10", detail: `a full server made liveness answer ${health}` })
  const result: Verdict = {
    figures: {
      "connections held": most,
      "while all waited": toldOf(between(writes, lockedFrom, lockedTo)),
      "while the server was full": toldOf(full),
      "back after ms": `${Math.round(backAt(lockedTo))} and ${Math.round(backAt(fullTo))}`,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
