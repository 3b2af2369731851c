/** The commands that run the service and care for its data. They load the whole service. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { serve } from "../app/Process.ts"
import * as Documents from "../openapi/Documents.ts"
import { auditCommand } from "./Audit.ts"
import { credentialCommand } from "./Credentials.ts"
import { demoCommand } from "./Demo.ts"
import { doctorCommand } from "./Doctor.ts"
import { edgeCommand } from "./Edge.ts"
import { migrateCommand } from "./Migrate.ts"
import { offlineCommand } from "./Offline.ts"
import { organizationCommand } from "./Organization.ts"
import { setupCommand } from "./setup/Setup.ts"
import { tryCommand } from "./Try.ts"
import { upgradeCommand } from "./upgrade/Upgrade.ts"

const serveCommand = Command.make("serve", {}, () => serve).pipe(
  Command.withDescription(
    "Run the service until SIGTERM or SIGINT. On shutdown it accepts no new connections and finishes running requests. Settings are environment variables; `keyshelf doctor` checks them.",
  ),
  Command.withShortDescription("Run the service until SIGTERM, then finish running requests"),
)

const openapiCommand = Command.make(
  "openapi",
  {
    check: Flag.Boolean("check").pipe(
      Flag.withDescription("Write nothing, and fail if the committed documents are outdated"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ check }) {
    yield* check ? Documents.check : Documents.write
  }),
).pipe(Command.withDescription("Generate the OpenAPI documents and docs/errors.md"))

export const localCommands = [
  serveCommand,
  tryCommand,
  setupCommand,
  migrateCommand,
  upgradeCommand,
  credentialCommand,
  doctorCommand,
  auditCommand,
  organizationCommand,
  openapiCommand,
  demoCommand,
  offlineCommand,
  edgeCommand,
] as const
