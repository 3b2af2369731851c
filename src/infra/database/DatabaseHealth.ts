/** The database's parts of readiness. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { migrations } from "../../../migrations/index.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { migrationsTable } from "./Migrations.ts"
import { IS_READ_ONLY, ReadOnlyConnections } from "./ReadOnlyConnections.ts"

export const TIMEOUT = "2 seconds"

/** Nodes whose clocks differ by more would disagree on what has expired. */
const CLOCK_TOLERANCE_MS = 5_000

const newestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

export interface Parts {
  readonly [part: string]: PartState
}

type Access = "writable" | "read-only" | "standby"

// A connection may differ from new ones: it keeps the setting with which it began.
const stateOf = (access: Access, tookMs: number, canNewOnesWrite: boolean): PartState => {
  if (access === "standby") return { status: "down", tookMs, reason: "standby: it accepts no changes" }
  if (access === "read-only" || !canNewOnesWrite) {
    return { status: "down", tookMs, reason: "read-only: it accepts no changes" }
  }
  return { status: "up", tookMs }
}

// Reads all database facts in one statement.
export const databaseParts = (sql: PgClient.PgClient) =>
  Effect.gen(function* () {
    const connections = yield* ReadOnlyConnections
    const started = performance.now()
    const before = (yield* now).getTime()
    const [row] = yield* sql<{ millis: string; applied: number | null; access: Access }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis,
        (SELECT max(migration_id)::int FROM ${sql(migrationsTable)}) AS applied,
        CASE WHEN pg_is_in_recovery() THEN 'standby'
          WHEN ${sql.literal(IS_READ_ONLY)} THEN 'read-only' ELSE 'writable' END AS access`
    const tookMs = Math.round(performance.now() - started)
    const offsetMs = Number(row?.millis) - before
    const applied = row?.applied ?? 0
    const access = row?.access ?? "writable"
    if (access !== "writable") connections.noticed()
    const parts: Parts = {
      database: stateOf(access, tookMs, connections.canWrite()),
      // During an upgrade an older node sees a newer schema, and works with it.
      schema: { status: applied >= newestMigration ? "up" : "down", applied, needed: newestMigration },
      clock: {
        status: offsetMs >= -CLOCK_TOLERANCE_MS && offsetMs - tookMs <= CLOCK_TOLERANCE_MS ? "up" : "down",
        offsetMs: Math.abs(offsetMs) <= tookMs ? 0 : offsetMs,
      },
    }
    return parts
  }).pipe(
    Effect.timeout(TIMEOUT),
    Effect.catchCause(() =>
      Effect.succeed<Parts>({ database: { status: "down", reason: "no response within 2 seconds" } }),
    ),
  )
