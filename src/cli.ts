/** The command line of the operator: `keyshelf`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Layer, Option } from "effect"
import { CliError, Command } from "effect/cli"
import { OutputLost, watch } from "./cli/Ending.ts"
import { presenter } from "./cli/Presenter.ts"
import { version } from "./infra/Version.ts"

/** The words of the local commands. Other commands start without loading them. */
const LOCAL = [
  "serve",
  "try",
  "setup",
  "migrate",
  "upgrade",
  "platform-credential",
  "doctor",
  "audit",
  "organization",
  "openapi",
  "demo",
  "offline",
  "edge",
]

const loadLocal = async () => {
  // First, so that every schema is compiled. This makes encoding a list a third cheaper; a remote command decodes too little to gain.
  await import("effect/schema/SchemaJITCompiler/enable")
  return (await import("./cli/LocalCommands.ts")).localCommands
}

const loadRemote = async (word?: string) => (await import("./cli/remote/Commands.ts")).loadRemoteCommands(word)

// The command follows the global flags, one of them with a value.
const words = process.argv.slice(2).filter((text, at, all) => !text.startsWith("-") && all[at - 1] !== "--log-level")
// A script of completions knows every command.
const requested = process.argv.includes("--completions") ? undefined : words[0]
const isLocal = LOCAL.some((word) => word === requested)
const remote = isLocal || requested === undefined ? [] : await loadRemote(requested)
const isRemote = remote.length > 0

// Loading takes most of the time of a short command: only what runs is loaded. Help, and the error of an unknown word, list everything.
const keyshelf = Command.make("keyshelf").pipe(
  Command.withDescription("Licensing and entitlement service"),
  Command.withSubcommands([
    ...(isRemote ? [] : [{ group: "Run the service", commands: await loadLocal() }]),
    ...(isLocal ? [] : [{ group: "Use a running service", commands: isRemote ? remote : await loadRemote() }]),
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
