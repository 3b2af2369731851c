/** `keyshelf migrate`: applies pending migrations, or lists them. */
import { Clock, Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { migrations } from "../../migrations/index.ts"
import * as Database from "../infra/database/Database.ts"
import { distribute } from "../infra/database/Distribution.ts"
import { formerSchema, hasFormerSchema, migrateWith } from "../infra/database/Migrations.ts"
import { Settings } from "../infra/Settings.ts"
import { databaseExists } from "./database/EmbeddedState.ts"
import { CommandFailed, innermost } from "./Failure.ts"
import * as Schema from "./database/Schema.ts"

/** What the command prints if there is nothing to do. */
export const UP_TO_DATE = "The database is up to date."

const counted = (count: number) => `${count} ${count === 1 ? "migration" : "migrations"}`

/** Wraps each migration to print when it starts, and how long it took. */
const withOutput = (sequence: typeof migrations): typeof migrations => {
  const printing = (name: string, migration: Effect.Effect<void, SqlError, SqlClient.SqlClient>) =>
    Effect.gen(function* () {
      const startedAt = yield* Clock.currentTimeMillis
      yield* Console.log(`Applying ${name} ...`)
      yield* migration
      yield* Console.log(`Applied ${name} in ${(yield* Clock.currentTimeMillis) - startedAt} ms`)
    })
  return Object.fromEntries(Object.entries(sequence).map(([name, migration]) => [name, printing(name, migration)]))
}

const failed = (error: { readonly cause?: unknown; readonly message: string }) =>
  new CommandFailed({
    message: `${error.message}: ${innermost(error.cause ?? error)}. The run was rolled back, and nothing was applied: all migrations of a run share one transaction.`,
  })

const undistributed = (error: SqlError) =>
  new CommandFailed({
    message: `The migrations are applied, but the tables are not distributed: ${innermost(error)}. Run the command again.`,
  })

const showPending = Effect.gen(function* () {
  if (yield* hasFormerSchema) return yield* new CommandFailed({ message: formerSchema() })
  const { newer, pending, skipped } = yield* Schema.readState
  for (const name of pending) yield* Console.log(`Would apply ${name}`)
  for (const name of skipped) yield* Console.log(`Skipped, although a newer migration is applied: ${name}`)
  if (newer.length > 0) yield* Console.log(`The database is ahead of this version: it has ${newer.join(", ")}.`)
  yield* Console.log(
    pending.length === 0
      ? "The database is up to date. Nothing was changed."
      : `${counted(pending.length)} would be applied. Nothing was changed.`,
  )
}).pipe(Effect.provide(Database.connection("attach")))

const dryRun = Effect.gen(function* () {
  if (yield* databaseExists) return yield* showPending
  for (const name of Schema.knownMigrations) yield* Console.log(`Would apply ${name}`)
  yield* Console.log(
    `There is no embedded database yet. It would be created, and ${counted(Schema.knownMigrations.length)} applied. Nothing was changed.`,
  )
})

const apply = Effect.gen(function* () {
  const applied = yield* migrateWith(withOutput(migrations)).pipe(
    Effect.catchTags({
      MigrationError: (error) => Effect.fail(failed(error)),
      SqlError: (error) => Effect.fail(failed(error)),
      FormerSchema: ({ message }) => Effect.fail(new CommandFailed({ message })),
    }),
  )
  yield* Console.log(applied.length === 0 ? UP_TO_DATE : `Applied ${counted(applied.length)}.`)
  const distributed = yield* distribute.pipe(
    Effect.catchTags({
      NotDistributable: ({ message }) => Effect.fail(new CommandFailed({ message })),
      SqlError: (error) => Effect.fail(undistributed(error)),
    }),
  )
  if (distributed.length > 0) yield* Console.log(`Distributed ${distributed.length} tables on Citus.`)
}).pipe(Effect.provide(Database.connection("attach")))

export const migrateCommand = Command.make(
  "migrate",
  {
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("List pending migrations without applying them"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* (flags) {
    yield* flags.dryRun ? dryRun : apply
  }),
).pipe(
  Command.withDescription(
    "Apply pending migrations to the database schema, in one transaction and under a lock. Processes that start at the same time wait for each other. `serve` also applies them at startup.",
  ),
  Command.withShortDescription("Apply pending migrations to the database schema"),
  Command.withExamples([
    { command: "keyshelf migrate --dry-run", description: "List what an upgrade will apply" },
    { command: "keyshelf migrate", description: "Apply it, before the new version starts" },
  ]),
  Command.provide(Layer.fresh(Settings.layer)),
)
