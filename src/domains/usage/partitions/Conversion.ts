/**
 * Makes the table of usage events a partition of a new one that takes its name, while nodes count usage (migration 44). Statements wait
 * for a lock of milliseconds; if one is not free within 100 ms, the step is tried again. Each step can be repeated, by any node.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Schedule } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import type { SqlError } from "effect/sql/SqlError"
import { sqlStateOf } from "../../../kernel/database/Statements.ts"
import { months } from "../../../kernel/database/TimePartitions.ts"
import { DAY_MS } from "../../../kernel/values/Timestamp.ts"

/** How long a step waits for a lock. Statements that come meanwhile wait for it. */
const LOCK_TIMEOUT = "100ms"

// Events from the boundary on are refused from the first step to the last one, so it is far ahead.
const MIN_AHEAD_MS = 60 * DAY_MS
const TOO_NEAR_MS = 14 * DAY_MS

const LOCK_NOT_AVAILABLE = "55P03"
const UNDEFINED_OBJECT = "42704"

const hasState = (state: string) => (error: unknown) => isSqlError(error) && sqlStateOf(error.reason) === state

/** Whether a statement waited too long for a lock. */
export const isLockTimeout: (error: unknown) => boolean = hasState(LOCK_NOT_AVAILABLE)

interface State {
  readonly isPartitioned: boolean
  readonly isKnown: boolean
  /** The text of the constraint of the boundary, if it was added. */
  readonly constraint: string | null
  readonly isValid: boolean | null
  readonly bytes: number
  readonly events: number
}

/** What the table of events is, and its size by the database's estimate. */
export const conversionState = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const [state] = yield* sql<State>`
    SELECT c.relkind = 'p' AS "isPartitioned", to_regproc('usage_events_partition') IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS "isKnown",
      pg_get_constraintdef(k.oid) AS constraint, k.convalidated AS "isValid",
      pg_total_relation_size(c.oid)::float8 AS bytes, greatest(c.reltuples, 0)::float8 AS events
    FROM pg_class c LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.conname = 'usage_events_boundary'
    WHERE c.oid = to_regclass('usage_events')`
  return state
})

const boundaryIn = (constraint: string): Date => {
  const text = /'([^']+)'::timestamp/.exec(constraint)?.[1] ?? ""
  return new Date(text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00"))
}

const size = (bytes: number): string =>
  bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`

/** Runs statements in a transaction that gives up if a lock is not free, and then once more. */
const briefly = Effect.fnUntraced(function* (statements: ReadonlyArray<string>) {
  const sql = yield* PgClient.PgClient
  const attempt = sql.withTransaction(
    Effect.gen(function* () {
      yield* sql.unsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
      for (const statement of statements) yield* sql.unsafe(statement)
    }),
  )
  const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")])
  yield* attempt.pipe(Effect.retry({ schedule: Schedule.jittered(backOff), times: 300, while: isLockTimeout }))
})

/** Changes the constraint of the boundary, unless another node has changed it, or the table, since `state` was read. */
const changeBoundary = ({ constraint }: State, boundary: string | null) => `DO $$
  BEGIN
    LOCK TABLE usage_events IN ACCESS EXCLUSIVE MODE;
    IF (SELECT relkind FROM pg_class WHERE oid = 'usage_events'::regclass) = 'r' AND (
      SELECT pg_get_constraintdef(oid) FROM pg_constraint
      WHERE conrelid = 'usage_events'::regclass AND conname = 'usage_events_boundary'
    ) IS NOT DISTINCT FROM ${constraint === null ? "NULL" : `'${constraint.replaceAll("'", "''")}'`} THEN
      ALTER TABLE usage_events DROP CONSTRAINT IF EXISTS usage_events_boundary;
      ${boundary === null ? "" : `ALTER TABLE usage_events ADD CONSTRAINT usage_events_boundary CHECK (timestamp < '${boundary}') NOT VALID;`}
    END IF;
  END $$`

const databaseTime = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return new Date((yield* sql<{ at: Date }>`SELECT clock_timestamp() AS at`)[0]?.at ?? 0)
})

const isAhead = (boundary: Date, at: Date): boolean => boundary.getTime() > at.getTime() + TOO_NEAR_MS

/** Takes back a conversion that began and was not finished, before its boundary refuses usage. */
export const abandonConversion = Effect.fnUntraced(function* (state: State) {
  if (state.constraint === null || isAhead(boundaryIn(state.constraint), yield* databaseTime)) return
  yield* briefly([changeBoundary(state, null)])
})

/**
 * Converts the table if it is not in partitions yet, and reports each step. Returns whether it is in partitions now; it is not on a
 * database whose tables are distributed.
 */
export const convertUsageEvents = (
  report: (text: string) => Effect.Effect<void>,
): Effect.Effect<boolean, SqlError, PgClient.PgClient> =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const state = yield* conversionState
    if (state === undefined || !state.isKnown) return false
    if (state.isPartitioned) return true
    const at = yield* databaseTime
    const given = state.constraint === null ? undefined : boundaryIn(state.constraint)
    if (given === undefined || !isAhead(given, at)) {
      const boundary = months.startOf(months.of(new Date(at.getTime() + MIN_AHEAD_MS)) + 1).toISOString()
      yield* report(
        `Usage events become partitions by month. Those before ${boundary.slice(0, 10)} stay where they are.`,
      )
      yield* briefly([changeBoundary(state, boundary)])
      // Another node may have chosen another boundary, or be done already.
      return yield* convertUsageEvents(report)
    }
    const text = given.toISOString()
    if (state.isValid !== true) {
      yield* report(
        `Reading about ${state.events.toLocaleString("en")} events (${size(state.bytes)} with indexes) once; usage is counted meanwhile ...`,
      )
      const started = Date.now()
      const progress = Effect.suspend(() =>
        report(`... still reading after ${Math.round((Date.now() - started) / 1000)} s`),
      )
      const validation = sql.withTransaction(
        Effect.andThen(
          sql`SELECT set_config('statement_timeout', '0', true)`,
          sql.unsafe(`ALTER TABLE usage_events VALIDATE CONSTRAINT usage_events_boundary`),
        ),
      )
      // Without the constraint, another node has converted the table meanwhile.
      yield* Effect.raceFirst(validation, Effect.forever(Effect.delay(progress, "10 seconds"))).pipe(
        Effect.catchIf(hasState(UNDEFINED_OBJECT), () => Effect.void),
      )
    }
    yield* briefly([`SELECT usage_events_partition('${text}')`])
    yield* report(`Usage events are in partitions.`)
    return true
  })
