/** `keyshelf setup`: prepares the Debian package on one machine. A second run changes nothing. */
import { Console, Effect, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import * as Steps from "./Steps.ts"

export const setupCommand = Command.make(
  "setup",
  {
    databaseUrl: Flag.Redacted("database-url").pipe(
      Flag.withDescription(
        "An empty database on another server, postgres://user:password@host/database. Default: a new one on this machine",
      ),
      Flag.optional,
    ),
  },
  Effect.fn(function* ({ databaseUrl }) {
    yield* Steps.requirePackage
    const print = (changes: ReadonlyArray<string>) => Effect.forEach(changes, (change) => Console.log(change))
    const { changes, settings } = yield* Steps.ensureSettings(databaseUrl)
    yield* print(changes)
    const migrated = yield* Steps.migrate(settings)
    yield* print(migrated)
    const started = Steps.runsSystemd() ? yield* Steps.startUnit : []
    yield* print(started)
    if (!Steps.runsSystemd()) yield* Console.log(Steps.withoutSystemd())
    const credential = yield* Steps.firstCredential(settings)
    if (credential === undefined) {
      const isUnchanged = [...changes, ...migrated, ...started].length === 0
      return yield* Console.log(`Keyshelf is set up.${isUnchanged ? " Nothing was changed." : ""}`)
    }
    yield* Console.log("The operator's platform credential, shown this once:")
    yield* Console.log(`  ${Redacted.value(credential)}`)
    yield* Console.log(
      `Back up SERVICE_SECRET_KEY in ${Steps.ENVIRONMENT_FILE} apart from the database: without it no stored token verifies.`,
    )
  }),
).pipe(
  Command.withDescription(
    "Set up the Debian package, as root: a database on this machine or the one of --database-url, settings with a new secret key in /etc/keyshelf/keyshelf.env, migrations, and the unit of systemd. Prints the operator's first credential, once. A second run changes nothing.",
  ),
  Command.withShortDescription("Set up the Debian package on this machine"),
  Command.withExamples([{ command: "sudo keyshelf setup", description: "Use the PostgreSQL of this machine" }]),
)
