/** Applies migrations. */
import { Migrator } from "effect/sql"
import { migrations } from "../../../migrations/index.ts"

/** Table that records the applied migrations. */
export const migrationsTable = "keyshelf_migrations"

/** Applies the pending migrations of a sequence, all or none, under a lock. Returns their ids and names. */
export const migrateWith = (sequence: typeof migrations) =>
  Migrator.make({})({ loader: Migrator.fromRecord(sequence), table: migrationsTable })

/** {@link migrateWith} the service's migrations. */
export const migrate = migrateWith(migrations)
