/** `keyshelf migrate`: brings the schema up to date, or shows what that would do. */
import { Clock, Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import type { SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import type { SqlError } from "effect/sql/SqlError"
import { migrations } from "../../migrations/index.ts"
import * as Database from "../infra/database/Database.ts"
import { migrateWith } from "../infra/database/Migrations.ts"
import { Settings } from "../infra/Settings.ts"
import { databaseExists } from "./EmbeddedState.ts"
import { CommandFailed } from "./Failure.ts"
import * as Schema from "./Schema.ts"

const counted = (count: number) => `${count} ${count === 1 ? "migration" : "migrations"}`

/** Each migration says that it begins, and how long it took. */
const announced = (sequence: typeof migrations): typeof migrations => {
  const announce = (name: string, migration: Effect.Effect<void, SqlError, SqlClient.SqlClient>) =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      yield* Console.log(`Applying ${name} ...`)
      yield* migration
      yield* Console.log(`         ${name} took ${(yield* Clock.currentTimeMillis) - began} ms`)
    })
  return Object.fromEntries(Object.entries(sequence).map(([name, migration]) => [name, announce(name, migration)]))
}

// The driver wraps what the server said twice; the innermost sentence is the one that helps.
const innermost = (cause: unknown): string => {
  if (isSqlError(cause)) return innermost(cause.reason.cause)
  if (cause instanceof Error) return cause.cause instanceof Error ? innermost(cause.cause) : cause.message
  return String(cause)
}

const failed = (error: { readonly cause?: unknown; readonly message: string }) =>
  new CommandFailed({
    message: `${error.message}: ${innermost(error.cause ?? error)}. Nothing was applied: all migrations of a run are one transaction.`,
  })

const showPending = Effect.gen(function* () {
  const { newer, pending, skipped } = yield* Schema.state
  for (const name of pending) yield* Console.log(`Would apply ${name}`)
  for (const name of skipped) yield* Console.log(`Missing, but older than the newest applied one: ${name}`)
  if (newer.length > 0) yield* Console.log(`The database is ahead of this version: it has ${newer.join(", ")}.`)
  yield* Console.log(
    pending.length === 0
      ? "The database is up to date. Nothing was changed."
      : `${counted(pending.length)} would be applied. Nothing was changed.`,
  )
}).pipe(Effect.provide(Database.connection("attach")))

const dryRun = Effect.gen(function* () {
  if (yield* databaseExists) return yield* showPending
  for (const name of Schema.known) yield* Console.log(`Would apply ${name}`)
  yield* Console.log(
    `There is no embedded database yet: it would be made, and ${counted(Schema.known.length)} applied. Nothing was changed.`,
  )
})

const apply = Effect.gen(function* () {
  const applied = yield* migrateWith(announced(migrations)).pipe(
    Effect.catchTags({
      MigrationError: (error) => Effect.fail(failed(error)),
      SqlError: (error) => Effect.fail(failed(error)),
    }),
  )
  yield* Console.log(applied.length === 0 ? "The database is up to date." : `Applied ${counted(applied.length)}.`)
}).pipe(Effect.provide(Database.connection("attach")))

export const migrateCommand = Command.make(
  "migrate",
  {
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("List what would be applied, and change nothing"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* (flags) {
    yield* flags.dryRun ? dryRun : apply
  }),
).pipe(
  Command.withDescription(
    "Bring the database's schema up to date. All that is missing is applied in one transaction, under a lock: processes that start at once wait for each other. `serve` does the same at its start.",
  ),
  Command.withShortDescription("Bring the database's schema up to date"),
  Command.withExamples([
    { command: "keyshelf migrate --dry-run", description: "See what an upgrade will do" },
    { command: "keyshelf migrate", description: "Do it, before the new version starts" },
  ]),
  Command.provide(Layer.fresh(Settings.layer)),
)
