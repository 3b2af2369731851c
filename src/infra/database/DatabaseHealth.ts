/** The database's parts of readiness. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { migrations } from "../../../migrations/index.ts"
import type { PartState } from "../../kernel/ports/HealthChecks.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { migrationsTable } from "./Migrations.ts"

export const LIMIT = "2 seconds"

/** Clocks further apart decide differently about what has expired. */
const CLOCK_TOLERANCE_MS = 5_000

const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

export interface Parts {
  readonly [part: string]: PartState
}

// One statement for all that the database can tell.
export const databaseParts = (sql: PgClient.PgClient) =>
  Effect.gen(function* () {
    const started = performance.now()
    const asked = (yield* now).getTime()
    const [row] = yield* sql<{ millis: string; applied: number | null }>`
      SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS millis,
        (SELECT max(migration_id)::int FROM ${sql(migrationsTable)}) AS applied`
    const tookMs = Math.round(performance.now() - started)
    const offsetMs = Number(row?.millis) - asked
    const applied = row?.applied ?? 0
    const parts: Parts = {
      database: { status: "up", tookMs },
      // A newer schema is what an older node sees during an upgrade, and can work with.
      schema: { status: applied >= newest ? "up" : "down", applied, needed: newest },
      clock: {
        status: offsetMs >= -CLOCK_TOLERANCE_MS && offsetMs - tookMs <= CLOCK_TOLERANCE_MS ? "up" : "down",
        offsetMs: Math.abs(offsetMs) <= tookMs ? 0 : offsetMs,
      },
    }
    return parts
  }).pipe(
    Effect.timeout(LIMIT),
    Effect.catchCause(() =>
      Effect.succeed<Parts>({ database: { status: "down", reason: "does not answer within 2 seconds" } }),
    ),
  )
