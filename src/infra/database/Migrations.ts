/** Applies migrations. */
import { Effect, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { migrations } from "../../../migrations/index.ts"
import { commandLine } from "../PackageFiles.ts"

/** Table that records the applied migrations. */
export const migrationsTable = "keyshelf_migrations"

/** The schema was made by the migrations before the baseline, which nothing converts. The message says what to do. */
class FormerSchema extends Schema.TaggedError<FormerSchema>()("FormerSchema", { message: Schema.String }) {}

/** What a user of such a database does. */
export const formerSchema = (): string =>
  `The database has the schema of a version before 0.2.0, which this one cannot use: write each organization to a file with the version that made it (\`${commandLine("organization export")}\`), and read the files into a new installation (\`${commandLine("organization import")}\`).`

/** Whether migrations were ever applied to the database. */
export const isMigrated = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ found: boolean }>`SELECT to_regclass(${migrationsTable}) IS NOT NULL AS found`
  return row?.found === true
})

/** Whether the migrations of the database are those before the baseline. */
export const hasFormerSchema = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  if (!(yield* isMigrated)) return false
  const rows = yield* sql`SELECT 1 FROM ${sql(migrationsTable)} WHERE migration_id = 1 AND name <> 'baseline'`
  return rows.length > 0
})

/** Applies the pending migrations of a sequence, all or none, under a lock. Returns their ids and names. */
export const migrateWith = (sequence: typeof migrations) =>
  Effect.gen(function* () {
    if (yield* hasFormerSchema) return yield* new FormerSchema({ message: formerSchema() })
    return yield* Migrator.make({})({ loader: Migrator.fromRecord(sequence), table: migrationsTable })
  })

/** {@link migrateWith} the service's migrations. */
export const migrate = migrateWith(migrations)
