/**
 * All migrations, in order. The first one is the baseline: each table once, in its final form, in a file per domain. Later ones only
 * expand, one topic each. The SQL of a released migration never changes. Append new migrations: the migrator skips ids below the
 * newest one in the database.
 */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import baseline from "./0001_baseline.ts"

export const migrations: Record<string, Effect.Effect<void, SqlError, SqlClient.SqlClient>> = {
  "0001_baseline": baseline,
}
