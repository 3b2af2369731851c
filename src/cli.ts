/** The operator's commands. */
// First, so that every schema is compiled: encoding a list costs a third less.
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Option, Runtime } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { credentialCommand } from "./cli/Credentials.ts"
import { doctorCommand } from "./cli/Doctor.ts"
import { migrateCommand } from "./cli/Migrate.ts"
import { demoCommand } from "./demo/Command.ts"
import { serve } from "./app/Process.ts"
import * as Documents from "./openapi/Documents.ts"

const serveCommand = Command.make("serve", {}, () => serve).pipe(
  Command.withDescription(
    "Run the service until it is told to stop. SIGTERM and SIGINT drain: no new connections, running requests finish. Settings are environment variables; `keyshelf doctor` checks them.",
  ),
  Command.withShortDescription("Run the service until it is told to stop (SIGTERM drains)"),
)

const openapiCommand = Command.make(
  "openapi",
  {
    check: Flag.Boolean("check").pipe(
      Flag.withDescription("Write nothing; fail if the committed documents are outdated"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ check }) {
    yield* check ? Documents.check : Documents.write
  }),
).pipe(Command.withDescription("Write the OpenAPI documents, and docs/errors.md"))

const keyshelf = Command.make("keyshelf").pipe(
  Command.withDescription("Licensing and entitlement service"),
  Command.withSubcommands([
    serveCommand,
    migrateCommand,
    credentialCommand,
    doctorCommand,
    openapiCommand,
    demoCommand,
  ]),
)

// npm does not pass SIGTERM on: when it is gone, this process ends itself instead of holding the ports.
if (process.env["npm_lifecycle_event"] !== undefined) {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, "SIGTERM")
  }, 500).unref()
}

keyshelf.pipe(
  Command.run({ version: "0.1.0" }),
  Effect.provide(NodeServices.layer),
  // What stops a command says why in one sentence; a bug of ours says where.
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.void
    return Option.match(Cause.findErrorOption(cause), {
      // Help, and what was wrong with the arguments, are printed already.
      onSome: (error) => (CliError.isCliError(error) ? Effect.void : Console.error(error.message)),
      onNone: () => Console.error(Cause.pretty(cause)),
    })
  }),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    // Being told to stop is how a service ends well.
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit),
  }),
)
