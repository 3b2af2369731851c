/** Applies migrations. */
import { Migrator } from "effect/sql"
import { migrations } from "../../../migrations/index.ts"

/** The table that says which migrations a database has. */
export const migrationsTable = "keyshelf_migrations"

/** Applies the migrations of a sequence that are missing, under a lock, all or none. Answers their ids and names. */
export const migrateWith = (sequence: typeof migrations) =>
  Migrator.make({})({ loader: Migrator.fromRecord(sequence), table: migrationsTable })

/** {@link migrateWith} the service's own sequence. */
export const migrate = migrateWith(migrations)
