/** The database's parts of readiness. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { migrations } from "../../../migrations/index.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { migrationsTable } from "./Migrations.ts"

export const TIMEOUT = "2 seconds"

/** Nodes whose clocks differ by more would disagree on what has expired. */
const CLOCK_TOLERANCE_MS = 5_000

const newestMigration = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

export interface Parts {
  readonly [part: string]: PartState
}

// Reads all database facts in one statement.
export const databaseParts = (sql: PgClient.PgClient) =>
  Effect.gen(function* () {
    const started = performance.now()
    const before = (yield* now).getTime()
    const [row] = yield* sql<{ millis: string; applied: number | null }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis,
        (SELECT max(migration_id)::int FROM ${sql(migrationsTable)}) AS applied`
    const tookMs = Math.round(performance.now() - started)
    const offsetMs = Number(row?.millis) - before
    const applied = row?.applied ?? 0
    const parts: Parts = {
      database: { status: "up", tookMs },
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
