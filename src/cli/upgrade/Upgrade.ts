/** `keyshelf upgrade`: plans an upgrade, and rehearses it on a copy (docs/upgrading.md). */
import { Layer, Logger } from "effect"
import { Command, Flag } from "effect/cli"
import { Settings } from "../../infra/Settings.ts"
import { plan } from "./Plan.ts"
import { record } from "./Record.ts"
import { rehearse } from "./Rehearse.ts"

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print one JSON document"), Flag.withDefault(false))

const onCopy = {
  backup: Flag.String("backup").pipe(Flag.withDescription("A file that deploy/backup/backup.sh or pg_dump -Fc wrote")),
  into: Flag.String("into").pipe(
    Flag.withDescription(
      "The URL of an empty database, into which the backup is restored. PGPASSWORD is its password if the URL has none",
    ),
  ),
}

const planCommand = Command.make("plan", { json }, plan).pipe(
  Command.withDescription(
    "Read the database at SERVICE_DATABASE_URL, and print for each pending migration which locks it takes, how long it takes with the rows of the tables, what can run before, and what to avoid until all processes are replaced. Changes nothing. Exits with 1 if the upgrade is not supported.",
  ),
  Command.withShortDescription("Print what an upgrade will do, without changing anything"),
  Command.provide(Layer.fresh(Settings.layer)),
)

const recordCommand = Command.make(
  "record",
  {
    ...onCopy,
    out: Flag.String("out").pipe(Flag.withDescription("The file of the answers. It holds no token and no metadata")),
  },
  record,
).pipe(
  Command.withDescription(
    "With the old version: restore a backup into an empty database, decide every check of it, and write one JSON document a line. It needs no key, and sends nothing of what it finds in the backup.",
  ),
  Command.withShortDescription("Record what the old version decides on a backup"),
)

const rehearseCommand = Command.make(
  "rehearse",
  {
    ...onCopy,
    answers: Flag.String("answers").pipe(
      Flag.withDescription("The file that `upgrade record` of the old version wrote for this backup"),
      Flag.optional,
    ),
    json,
  },
  rehearse,
).pipe(
  Command.withDescription(
    "With the new version: restore a backup into an empty database, migrate it, decide the same checks, and print each decision that differs, with times and locks. Exits with 1 if one differs. It needs no key, and sends nothing of what it finds in the backup.",
  ),
  Command.withShortDescription("Rehearse an upgrade on a backup, and compare every decision"),
)

export const upgradeCommand = Command.make("upgrade").pipe(
  Command.withDescription("Plan an upgrade, and rehearse it on a copy"),
  Command.withSubcommands([planCommand, recordCommand, rehearseCommand]),
  // The report is the output; log lines would be between its lines.
  Command.provide(Logger.layer([])),
)
