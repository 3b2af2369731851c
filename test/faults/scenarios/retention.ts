/** What is too old is removed by jobs that are killed in the midst of it, and that run on two nodes at once. */
import { Effect } from "effect"
import { writeMany } from "../support/bulk.ts"
import type { Violation } from "../support/Checker.ts"
import { open, tenant, until } from "../support/Installation.ts"
import type { Installation, Tenant } from "../support/Installation.ts"
import type { Setting, Verdict } from "../support/World.ts"

const DAY_MILLIS = 86_400_000
const KEPT_DAYS = 30
const OLDEST_DAY = 50
const ATTEMPTS_PER_DAY = 200
const OLD_EVENTS = 20_000
const YOUNG_EVENTS = 2_000

const dayStart = (ago: number): Date => new Date((Math.floor(Date.now() / DAY_MILLIS) - ago) * DAY_MILLIS)
const tableOf = (ago: number): string =>
  `webhook_attempts_${dayStart(ago).toISOString().slice(0, 10).replaceAll("-", "")}`

// A day of history, as a service leaves it that ran then.
const makeDay = Effect.fnUntraced(function* ({ sql }: Installation, { organizationId }: Tenant, ago: number) {
  const [from, to] = [dayStart(ago), dayStart(ago - 1)]
  yield* sql.unsafe(`CREATE TABLE IF NOT EXISTS ${tableOf(ago)} PARTITION OF webhook_attempts
    FOR VALUES FROM ('${from.toISOString()}') TO ('${to.toISOString()}')`)
  yield* sql`
    INSERT INTO webhook_attempts (organization_id, "timestamp", id, delivery_id, event_id, event_name, endpoint_id,
      endpoint_url, attempt, state, duration_ms)
    SELECT ${organizationId}, ${from}::timestamptz + number * interval '7 minutes', gen_random_uuid(),
      gen_random_uuid(), gen_random_uuid(), 'CUSTOMER_CREATION', gen_random_uuid(), 'https://example.org/', 1, 'Success', 1
    FROM generate_series(1, ${ATTEMPTS_PER_DAY}) AS number`
}, Effect.orDie)

/** Kills the node that removes, then lets two go on at once, twice. */
export const retention = Effect.fnUntraced(function* (setting: Setting) {
  const installation = yield* open(setting.server, setting.limits)
  const { sql } = installation
  const env = { SERVICE_RETENTION_EVENTS: `${KEPT_DAYS} days`, SERVICE_RETENTION_WEBHOOK_HISTORY: `${KEPT_DAYS} days` }
  const clerk = yield* installation.node("clerk", { SERVICE_ROLES: "core,platform,internal" })
  const one = yield* installation.node("one", env)
  const two = yield* installation.node("two", env)
  yield* clerk.start
  const acme = yield* tenant(installation, clerk, "Acme")
  for (let ago = OLDEST_DAY; ago >= 0; ago--) yield* makeDay(installation, acme, ago)
  const young = new Date(Date.now() - (KEPT_DAYS - 1) * DAY_MILLIS)
  const old = new Date(Date.now() - (KEPT_DAYS + 1) * DAY_MILLIS)
  yield* writeMany(installation, acme, { count: OLD_EVENTS, marker: "old", from: old, isOwed: false })
  yield* writeMany(installation, acme, { count: YOUNG_EVENTS, marker: "young", from: young, isOwed: false })

  // The day on which the history begins is kept, for it holds what is young enough.
  const border = dayStart(KEPT_DAYS)
  const state = Effect.orDie(
    Effect.map(
      sql<{ days: number; olderAttempts: number; olderEvents: number; kept: string }>`
        SELECT (SELECT count(*)::int FROM pg_inherits WHERE inhparent = 'webhook_attempts'::regclass) AS days,
          (SELECT count(*)::int FROM webhook_attempts WHERE "timestamp" < ${border}) AS "olderAttempts",
          (SELECT count(*)::int FROM events WHERE data->>'name' LIKE 'old-%') AS "olderEvents",
          (SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM webhook_attempts WHERE "timestamp" >= ${border})
            || (SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM events WHERE data->>'name' LIKE 'young-%') AS kept`,
      ([row]) => row ?? { days: 0, olderAttempts: 0, olderEvents: 0, kept: "" },
    ),
  )
  const before = yield* state
  const bounds: Array<Violation> = []
  const broken = (detail: string) => bounds.push({ invariant: "I10", detail })

  // A reader of one old day makes the job wait there, so that it is killed with some days dropped and some not.
  const [seen, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  yield* Effect.forkScoped(
    Effect.orDie(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* sql.unsafe(`SELECT count(*) FROM ${tableOf(OLDEST_DAY - 8)}`)
          seen.resolve()
          yield* Effect.promise(() => go.promise)
        }),
      ),
    ),
  )
  yield* Effect.promise(() => seen.promise)
  const countDays = () =>
    Effect.runPromise(
      Effect.orDie(
        Effect.map(
          sql<{ days: number }>`
            SELECT count(*)::int AS days FROM pg_inherits WHERE inhparent = 'webhook_attempts'::regclass`,
          ([row]) => row?.days ?? 0,
        ),
      ),
    )
  yield* one.start.pipe(Effect.ignoreCause, Effect.forkScoped)
  yield* until(
    "some old days are dropped",
    async () => {
      const waiting = await Effect.runPromise(
        Effect.orDie(sql`SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'`),
      )
      return waiting.length > 0 && (await countDays()) < before.days
    },
    30_000,
  )
  yield* one.kill
  const atKill = yield* state
  go.resolve()
  if (atKill.olderAttempts === 0) broken("the job was done before it was killed")
  if (atKill.kept !== before.kept) broken("the killed job removed what is young")

  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const removed = Effect.map(state, ({ olderAttempts, olderEvents }) => olderAttempts + olderEvents === 0)
  yield* until("all that is old is removed", () => Effect.runPromise(removed), 75_000)
  const first = yield* state
  if (first.kept !== before.kept) broken("two jobs at once removed what is young")
  // Once more: there is nothing to do, and nothing is done.
  yield* Effect.all([one.terminate, two.terminate], { concurrency: 2 })
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  yield* Effect.sleep(1_500)
  const second = yield* state
  if (second.kept !== before.kept || second.days !== first.days) broken("the job did something though nothing was old")
  // Today and seven days ahead, and the days that are kept.
  if (first.days !== KEPT_DAYS + 1 + 7) broken(`${first.days} days have a partition`)
  const failed = /could not do|could not be made/.exec(one.output() + two.output())
  if (failed !== null) broken(`a job failed: ${failed[0]}`)
  const result: Verdict = {
    figures: {
      "days before": before.days,
      "at the kill": atKill.days,
      after: first.days,
      "attempts removed": before.olderAttempts,
      "of them at the kill": before.olderAttempts - atKill.olderAttempts,
      "events removed": before.olderEvents,
      "of them by then": before.olderEvents - atKill.olderEvents,
    },
    violations: bounds,
  }
  return result
})
