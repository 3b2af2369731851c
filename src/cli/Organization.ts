/** `keyshelf organization`: moves an organization to another installation (docs/moving-organizations.md). */
import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { createReadStream, createWriteStream } from "node:fs"
import { rename, rm } from "node:fs/promises"
import { pipeline } from "node:stream"
import { finished } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"
import * as InstallationKeys from "../app/InstallationKeys.ts"
import { MoveRefused } from "../domains/maintenance/moving/Errors.ts"
import { OrganizationMove } from "../domains/maintenance/moving/OrganizationMove.ts"
import type { Counts } from "../domains/maintenance/moving/ArchiveDigests.ts"
import { SecretKeysRepo } from "../domains/maintenance/SecretKeysRepo.ts"
import * as Database from "../infra/database/Database.ts"
import { formerSchema, hasFormerSchema, isMigrated } from "../infra/database/Migrations.ts"
import { reason } from "../infra/embedded/Errors.ts"
import { DurationText } from "../infra/SettingFormats.ts"
import { Settings } from "../infra/Settings.ts"
import * as Logging from "../infra/telemetry/Logging.ts"
import { CommandFailed, innermost } from "./Failure.ts"
import { streamLines } from "./input/Input.ts"
import * as Schema from "./database/Schema.ts"
import { commandLine } from "../infra/PackageFiles.ts"

const failed = (message: string) => new CommandFailed({ message })

const fileFlag = Flag.String("file").pipe(Flag.withDescription("The file of the organization"))

/** Runs before anything reads a table, because the command compares the installation's keys with the database first. */
const refuseOtherSchemas = Layer.effectDiscard(
  Effect.gen(function* () {
    if (yield* hasFormerSchema) return yield* failed(formerSchema())
    if (!(yield* isMigrated)) {
      return yield* failed(`The database is not migrated yet. Run \`${commandLine("migrate")}\`.`)
    }
    return undefined
  }),
)

/** The migrations of the database, which must be those of this version. */
const readMigrations = Effect.gen(function* () {
  const { newer, pending, skipped } = yield* Schema.readState
  if (newer.length + pending.length + skipped.length === 0) return Schema.knownMigrations
  return yield* failed(
    `The database has another schema than this version. Run \`${commandLine("migrate")}\` of the version that it needs.`,
  )
})

const counted = (counts: Counts): string => {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return `${rows} rows of ${Object.keys(counts).length} tables`
}

/** Writes lines into a new file, which gets its name once all of them are written. Only its owner may read it. */
const writeFile = <A, E, R>(
  file: string,
  use: (write: (lines: ReadonlyArray<string>) => Effect.Effect<void, MoveRefused>) => Effect.Effect<A, E, R>,
) => {
  const part = `${file}.part`
  const broken = (error: unknown) =>
    new MoveRefused({ message: `The file ${file} cannot be written: ${reason(error)}` })
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const gzip = createGzip()
      const output = pipeline(gzip, createWriteStream(part, { flags: "wx", mode: 0o600 }), () => undefined)
      const done = finished(output)
      done.catch(() => undefined)
      return { gzip, done }
    }),
    ({ done, gzip }) =>
      Effect.gen(function* () {
        const result = yield* use((lines) =>
          lines.length === 0
            ? Effect.void
            : Effect.tryPromise({
                try: () =>
                  Promise.race([
                    new Promise<void>((written) => gzip.write(`${lines.join("\n")}\n`, () => written())),
                    done,
                  ]),
                catch: broken,
              }),
        )
        yield* Effect.tryPromise({
          try: async () => {
            gzip.end()
            await done
            await rename(part, file)
          },
          catch: broken,
        })
        return result
      }),
    ({ gzip }, exit) =>
      exit._tag === "Success"
        ? Effect.void
        : Effect.promise(async () => {
            gzip.destroy()
            await rm(part, { force: true })
          }),
  )
}

const readLines = (file: string) =>
  streamLines(
    { name: file, open: () => pipeline(createReadStream(file), createGunzip(), () => undefined) },
    (error) => new MoveRefused({ message: `The file ${file} cannot be read, or was cut off: ${reason(error)}` }),
  )

/** Prints each rejection and each database error as one sentence. */
const explained = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.mapError(work, (error) => {
    if (error instanceof MoveRefused) return failed(error.message)
    return error instanceof Error && "_tag" in error && error._tag === "SqlError"
      ? failed(`The database rejects it: ${innermost(error)}. Nothing was changed.`)
      : error
  })

const exportCommand = Command.make(
  "export",
  {
    organization: Flag.String("organization").pipe(Flag.withDescription("The slug of the organization")),
    file: fileFlag,
    watch: Flag.String("watch").pipe(
      Flag.withDescription("How long the organization must not change after it was read; default: 10s"),
      Flag.withDefault("10s"),
      Flag.withSchema(DurationText),
    ),
  },
  Effect.fn(function* ({ file, organization, watch }) {
    const migrations = yield* readMigrations
    const { exportTo } = yield* OrganizationMove
    const counts = yield* writeFile(file, (write) => exportTo({ slug: organization, migrations, watch, write })).pipe(
      explained,
    )
    yield* Console.log(`Exported ${counted(counts)} of "${organization}" to ${file}.`)
  }),
).pipe(
  Command.withDescription(
    "Write all rows of an organization, as of one instant, to a new file. Stop the requests of the organization first: the export fails if it changes meanwhile. The file contains token hashes and encrypted secrets; only you can read it.",
  ),
  Command.withShortDescription("Write an organization to a file"),
)

const importCommand = Command.make(
  "import",
  { file: fileFlag },
  Effect.fn(function* ({ file }) {
    const migrations = yield* readMigrations
    const { importFrom } = yield* OrganizationMove
    const { counts, organization } = yield* explained(importFrom(readLines(file), migrations))
    yield* Console.log(`Imported ${counted(counts)} of "${organization.slug}" (${organization.id}).`)
  }),
).pipe(
  Command.withDescription(
    "Import an organization from a file, with all its ids, in one transaction: after a failure nothing is imported. The installation needs the same version, and the secret keys of the source under the same ids.",
  ),
  Command.withShortDescription("Import an organization from a file"),
)

const compareCommand = Command.make(
  "compare",
  { file: fileFlag },
  Effect.fn(function* ({ file }) {
    yield* readMigrations
    const { compare } = yield* OrganizationMove
    const { changed, organization } = yield* explained(compare(readLines(file)))
    if (changed.length > 0) {
      return yield* failed(`The organization "${organization.slug}" differs from ${file}: ${changed.join(", ")}.`)
    }
    yield* Console.log(`The organization "${organization.slug}" is as in ${file}.`)
  }),
).pipe(
  Command.withDescription(
    "Compare an organization with its file: at the source before you remove it there, at the destination after the import. Deliveries, which go on by themselves, are not compared. Exits with 1 if something differs, and names the tables.",
  ),
  Command.withShortDescription("Compare an organization with its file"),
)

export const organizationCommand = Command.make("organization").pipe(
  Command.withDescription("Move an organization to another installation"),
  Command.withSubcommands([exportCommand, importCommand, compareCommand]),
  Command.provide(
    OrganizationMove.layer.pipe(
      Layer.provide(SecretKeysRepo.layer),
      Layer.provideMerge(InstallationKeys.layer.pipe(Layer.provide(NodeServices.layer))),
      Layer.provideMerge(refuseOtherSchemas),
      Layer.provideMerge(Database.connection("attach")),
      Layer.provideMerge(Layer.fresh(Settings.layer)),
      Layer.merge(Logging.layer),
    ),
  ),
)
