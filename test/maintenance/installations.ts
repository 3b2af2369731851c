/** Two installations between which organizations move. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted, Stream } from "effect"
import type { Scope } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import * as InstallationKeys from "../../src/app/InstallationKeys.ts"
import * as Schema from "../../src/cli/database/Schema.ts"
import { OrganizationMove } from "../../src/domains/maintenance/moving/OrganizationMove.ts"
import { SecretKeys } from "../../src/domains/maintenance/SecretKeys.ts"
import { SecretKeysRepo } from "../../src/domains/maintenance/SecretKeysRepo.ts"
import { migrate } from "../../src/infra/database/Migrations.ts"
import { emptyDatabase } from "../cli/database.ts"
import { shell } from "../cli/shell.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { testSecrets, TestService } from "../support/TestService.ts"

/** The secret key of both installations, as a setting. */
export const KEY = `test:${Buffer.alloc(32, 7).toString("base64")}`

/** A database of one server, also where the tests run on Citus. */
const onOneServer = Layer.effect(
  TestDatabase,
  Effect.tap(
    Effect.map(emptyDatabase, (url) => ({ url })),
    ({ url }) => Effect.provide(migrate, PgClient.layer({ url, maxConnections: 1 })),
  ).pipe(Effect.orDie),
)

/** Another installation, on a database of its own, with the same secret key. */
const installationOn = (database: typeof TestDatabase.layer) =>
  Effect.map(Layer.build(Layer.fresh(Layer.provideMerge(TestService.separate, Layer.fresh(database)))), (built) => ({
    service: Context.get(built, TestService),
    sql: Context.get(built, PgClient.PgClient),
    url: Context.get(built, TestDatabase).url,
    /** Imports lines, and returns why that was refused. */
    refusal: (lines: ReadonlyArray<string>) =>
      Effect.flatMap(OrganizationMove, ({ importFrom }) =>
        importFrom(Stream.fromIterable(lines), Schema.knownMigrations),
      ).pipe(
        Effect.provide(Layer.provide(OrganizationMove.layer, SecretKeysRepo.layer)),
        Effect.provide(built),
        Effect.flip,
        Effect.map(({ message }) => message),
      ),
    /** Opens what is stored encrypted: the kinds, how many values were tried, and how many could be opened. */
    openings: Effect.flatMap(SecretKeys, (keys) => keys.openings(["test"], Option.none())).pipe(
      Effect.provide(InstallationKeys.comparing(testSecrets)),
      Effect.provide(SecretKeysRepo.layer),
      Effect.provide(built),
    ),
  })).pipe(
    // Otherwise it would be a second node of the source.
    Effect.updateContext((context: Context.Context<Scope.Scope>) => Context.omit(TestDatabase)(context)),
  )

const commandOn =
  (url: Redacted.Redacted, key = KEY) =>
  (line: string) =>
    shell(`keyshelf organization ${line}`, { SERVICE_DATABASE_URL: Redacted.value(url), SERVICE_SECRET_KEY: key })

const withCommands = (installation: Effect.Success<ReturnType<typeof installationOn>>) => ({
  ...installation,
  command: commandOn(installation.url),
})

/** An installation with a database like that of the test's own service, but empty. */
export const sameKind = Effect.map(installationOn(TestDatabase.layer), withCommands)

/** An empty installation with a database of one server. */
export const oneServer = Effect.map(installationOn(onOneServer), withCommands)

/** The source with a full organization, its file, and an empty destination. */
export const moving = Effect.gen(function* () {
  const there = yield* sameKind
  const url = (yield* TestDatabase).url
  const file = join(yield* temporaryDirectory, "acme.gz")
  return { there, file, atSource: commandOn(url), atDestination: there.command }
})

/** The lines of a file, and a file of lines. */
export const linesIn = (file: string) => gunzipSync(readFileSync(file)).toString().trimEnd().split("\n")
export const write = (file: string, lines: ReadonlyArray<string>) =>
  writeFileSync(file, gzipSync(`${lines.join("\n")}\n`))
