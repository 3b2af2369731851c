/** Two installations between which organizations move. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Redacted, Stream } from "effect"
import type { Scope } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import * as InstallationKeys from "../../src/app/InstallationKeys.ts"
import * as Schema from "../../src/cli/Schema.ts"
import { OrganizationMove } from "../../src/domains/maintenance/moving/OrganizationMove.ts"
import { SecretKeys } from "../../src/domains/maintenance/SecretKeys.ts"
import { SecretKeysRepo } from "../../src/domains/maintenance/SecretKeysRepo.ts"
import { shell } from "../cli/shell.ts"
import { temporaryDirectory } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { testSecrets, TestService } from "../support/TestService.ts"

/** The secret key of both installations, as a setting. */
export const KEY = `test:${Buffer.alloc(32, 7).toString("base64")}`

/** Another installation, on a database of its own, with the same secret key. */
const destination = Effect.map(
  Layer.build(Layer.fresh(Layer.provideMerge(TestService.layer, Layer.fresh(TestDatabase.layer)))),
  (built) => ({
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
  }),
).pipe(
  // Otherwise it would be a second node of the source.
  Effect.updateContext((context: Context.Context<Scope.Scope>) => Context.omit(TestDatabase)(context)),
)

const commandOn =
  (url: Redacted.Redacted, key = KEY) =>
  (line: string) =>
    shell(`keyshelf organization ${line}`, { SERVICE_DATABASE_URL: Redacted.value(url), SERVICE_SECRET_KEY: key })

/** The source with a full organization, its file, and an empty destination. */
export const moving = Effect.gen(function* () {
  const there = yield* destination
  const url = (yield* TestDatabase).url
  const file = join(yield* temporaryDirectory, "acme.gz")
  return { there, file, atSource: commandOn(url), atDestination: commandOn(there.url) }
})

/** The lines of a file, and a file of lines. */
export const linesIn = (file: string) => gunzipSync(readFileSync(file)).toString().trimEnd().split("\n")
export const write = (file: string, lines: ReadonlyArray<string>) =>
  writeFileSync(file, gzipSync(`${lines.join("\n")}\n`))
