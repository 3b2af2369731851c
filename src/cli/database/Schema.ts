/** Compares a database's schema with the migrations of this version. It only reads. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../migrations/index.ts"
import { isMigrated, migrationsTable } from "../../infra/database/Migrations.ts"

/** The names of all migrations of this version, in order, such as `0001_access`. */
export const knownMigrations: ReadonlyArray<string> = Object.keys(migrations).toSorted()

const idOf = (name: string) => Number(name.slice(0, name.indexOf("_")))

/** The differences between a database and this version. */
interface SchemaState {
  /** Not applied yet; `migrate` applies them. */
  readonly pending: ReadonlyArray<string>
  /** Not applied, but older than the newest applied one: the migrator never applies them. */
  readonly skipped: ReadonlyArray<string>
  /** Applied by a newer version of the service. */
  readonly newer: ReadonlyArray<string>
}

/** Compares the applied ids with those of this version. Pure. */
export const compare = (applied: ReadonlyArray<{ readonly id: number; readonly name: string }>): SchemaState => {
  const ids = new Set(applied.map(({ id }) => id))
  const newest = Math.max(0, ...ids)
  const missing = knownMigrations.filter((name) => !ids.has(idOf(name)))
  const knownIds = new Set(knownMigrations.map(idOf))
  return {
    pending: missing.filter((name) => idOf(name) > newest),
    skipped: missing.filter((name) => idOf(name) < newest),
    newer: applied
      .filter(({ id }) => !knownIds.has(id))
      .map(({ id, name }) => `${String(id).padStart(4, "0")}_${name}`),
  }
}

/** Reads the state of the connected database. Without a migrations table, no migration is applied. */
export const readState = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  if (!(yield* isMigrated)) return compare([])
  return compare(
    yield* sql<{ id: number; name: string }>`
      SELECT migration_id AS id, name FROM ${sql(migrationsTable)} ORDER BY migration_id`,
  )
})
