/** The command line of the operator: `keyshelf`. */
// Imported first, so that every schema is compiled. This makes encoding a list a third cheaper.
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Layer, Option } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { auditCommand } from "./cli/Audit.ts"
import { credentialCommand } from "./cli/Credentials.ts"
import { demoCommand } from "./cli/Demo.ts"
import { doctorCommand } from "./cli/Doctor.ts"
import { OutputLost, watch } from "./cli/Ending.ts"
import { migrateCommand } from "./cli/Migrate.ts"
import { offlineCommand } from "./cli/Offline.ts"
import { organizationCommand } from "./cli/Organization.ts"
import { presenter } from "./cli/Presenter.ts"
import { makeRemoteCommands } from "./cli/remote/Commands.ts"
import { version } from "./infra/Version.ts"
import { serve } from "./app/Process.ts"
import * as Documents from "./openapi/Documents.ts"

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

const localCommands = [
  serveCommand,
  migrateCommand,
  credentialCommand,
  doctorCommand,
  auditCommand,
  organizationCommand,
  openapiCommand,
  demoCommand,
  offlineCommand,
] as const

// The command follows the global flags, one of them with a value.
const words = process.argv.slice(2).filter((text, at, all) => !text.startsWith("-") && all[at - 1] !== "--log-level")
const [requested] = words
const isLocal = localCommands.some(({ name }) => name === requested)

const keyshelf = Command.make("keyshelf").pipe(
  Command.withDescription("Licensing and entitlement service"),
  Command.withSubcommands([
    { group: "Run the service", commands: localCommands },
    // They read the API documents. No local command needs these, and `openapi` writes them.
    ...(isLocal ? [] : [{ group: "Use a running service", commands: makeRemoteCommands() }]),
  ]),
)

const { teardown } = watch(words)

// npm does not forward SIGTERM. When npm has exited, this process stops itself, so that it does not keep the ports.
if (process.env["npm_lifecycle_event"] !== undefined) {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, "SIGTERM")
  }, 500).unref()
}

keyshelf.pipe(
  Command.run({ version }),
  Effect.provide(Layer.merge(NodeServices.layer, presenter(process.argv.includes("--json")))),
  // An expected error prints one sentence; a defect prints its stack trace.
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.void
    return Option.match(Cause.findErrorOption(cause), {
      // Help and argument errors are already printed.
      onSome: (error) =>
        CliError.isCliError(error) || error instanceof OutputLost ? Effect.void : Console.error(error.message),
      onNone: () => Console.error(Cause.pretty(cause)),
    })
  }),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown }),
)
