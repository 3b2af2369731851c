/** Fault: retention jobs are killed while they delete, and run on two nodes at once. */
import { Effect } from "effect"
import { writeEvents } from "../support/bulk.ts"
import type { Violation } from "../support/Checker.ts"
import { open, tenant, until } from "../support/Installation.ts"
import type { Installation, Tenant } from "../support/Installation.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const DAY_MILLIS = 86_400_000
const RETAINED_DAYS = 30
const OLDEST_DAY = 50
const ATTEMPTS_PER_DAY = 200
const OLD_EVENTS = 20_000
const YOUNG_EVENTS = 2_000

const dayStart = (ago: number): Date => new Date((Math.floor(Date.now() / DAY_MILLIS) - ago) * DAY_MILLIS)
const tableOf = (ago: number): string =>
  `webhook_attempts_${dayStart(ago).toISOString().slice(0, 10).replaceAll("-", "")}`

// Creates one day of delivery history, as a running service would have stored it.
const createDay = Effect.fnUntraced(function* ({ sql }: Installation, { organizationId }: Tenant, ago: number) {
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

/** Kills the deleting node, then runs the job on two nodes at once, twice. */
export const retention = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const { sql } = installation
  const env = {
    SERVICE_RETENTION_EVENTS: `${RETAINED_DAYS} days`,
    SERVICE_RETENTION_WEBHOOK_HISTORY: `${RETAINED_DAYS} days`,
  }
  const clerk = yield* installation.node("clerk", { SERVICE_ROLES: "core,platform,internal" })
  const one = yield* installation.node("one", env)
  const two = yield* installation.node("two", env)
  yield* clerk.start
  const acme = yield* tenant(installation, clerk, "Acme")
  for (let ago = OLDEST_DAY; ago >= 0; ago--) yield* createDay(installation, acme, ago)
  const young = new Date(Date.now() - (RETAINED_DAYS - 1) * DAY_MILLIS)
  const old = new Date(Date.now() - (RETAINED_DAYS + 1) * DAY_MILLIS)
  yield* writeEvents(installation, acme, { count: OLD_EVENTS, marker: "old", from: old, isPending: false })
  yield* writeEvents(installation, acme, { count: YOUNG_EVENTS, marker: "young", from: young, isPending: false })

  // The day on which the retention time ends is retained, because part of it is still within that time.
  const cutoff = dayStart(RETAINED_DAYS)
  const state = Effect.orDie(
    Effect.map(
      sql<{ days: number; olderAttempts: number; olderEvents: number; kept: string }>`
        SELECT (SELECT count(*)::int FROM pg_inherits WHERE inhparent = 'webhook_attempts'::regclass) AS days,
          (SELECT count(*)::int FROM webhook_attempts WHERE "timestamp" < ${cutoff}) AS "olderAttempts",
          (SELECT count(*)::int FROM events WHERE data->>'name' LIKE 'old-%') AS "olderEvents",
          (SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM webhook_attempts WHERE "timestamp" >= ${cutoff})
            || (SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM events WHERE data->>'name' LIKE 'young-%') AS kept`,
      ([row]) => row ?? { days: 0, olderAttempts: 0, olderEvents: 0, kept: "" },
    ),
  )
  const before = yield* state
  const bounds: Array<Violation> = []
  const broken = (detail: string) => bounds.push({ invariant: "I10", detail })

  // A reader of one old day blocks the job there, so that it is killed after dropping only some of the days.
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
  if (atKill.olderAttempts === 0) broken("the job had finished before it was killed")
  if (atKill.kept !== before.kept) broken("the killed job deleted recent rows")

  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const isDone = Effect.map(state, ({ olderAttempts, olderEvents }) => olderAttempts + olderEvents === 0)
  yield* until("all old rows are deleted", () => Effect.runPromise(isDone), 75_000)
  const first = yield* state
  if (first.kept !== before.kept) broken("two concurrent jobs deleted recent rows")
  // A second run has nothing to delete.
  yield* Effect.all([one.terminate, two.terminate], { concurrency: 2 })
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  yield* Effect.sleep(1_500)
  const second = yield* state
  if (second.kept !== before.kept || second.days !== first.days) broken("the job changed data although nothing was old")
  // The retained days, today, and seven days ahead.
  if (first.days !== RETAINED_DAYS + 1 + 7)
    broken(`${first.days} days have a partition, expected ${RETAINED_DAYS + 1 + 7}`)
  const failed = /could not do|could not be made/.exec(one.output() + two.output())
  if (failed !== null) broken(`a job failed: ${failed[0]}`)
  const result: Verdict = {
    figures: {
      "days before": before.days,
      "at the kill": atKill.days,
      after: first.days,
      "attempts deleted": before.olderAttempts,
      "of them before the kill": before.olderAttempts - atKill.olderAttempts,
      "events deleted": before.olderEvents,
      "of these before the kill": before.olderEvents - atKill.olderEvents,
    },
    violations: bounds,
  }
  return result
})
