/** The operator's commands. */
// First, so that every schema is compiled: encoding a list costs a third less.
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Layer, Option, Redacted, Runtime } from "effect"
import { Command, Flag } from "effect/cli"
import { allScopes, PlatformCredentials } from "./access/PlatformCredentials.ts"
import { demoCommand } from "./demo/Command.ts"
import { PlatformScope } from "./kernel/Scope.ts"
import { backend, serve } from "./main.ts"
import * as Documents from "./openapi/Documents.ts"
import * as Database from "./runtime/Database.ts"
import * as Logging from "./runtime/Logging.ts"
import { Settings } from "./runtime/Settings.ts"

const serveCommand = Command.make("serve", {}, () => serve).pipe(
  Command.withDescription("Run the service until it is told to stop (SIGTERM drains)"),
)

const migrateCommand = Command.make(
  "migrate",
  {},
  Effect.fn(function* () {
    const applied = yield* Database.migrate
    yield* Console.log(
      applied.length === 0
        ? "The database is up to date."
        : applied.map(([id, name]) => `Applied ${String(id).padStart(4, "0")}_${name}`).join("\n"),
    )
  }),
).pipe(
  Command.withDescription("Bring the database's schema up to date"),
  Command.provide(Database.connection("attach").pipe(Layer.provide(Settings.layer))),
)

const createCredential = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("What will hold the credential"), Flag.withDefault("operator")),
    scope: Flag.Literals("scope", PlatformScope.literals).pipe(
      Flag.withDescription("A scope; may be repeated. All scopes if absent"),
      Flag.between(0, 50),
    ),
  },
  Effect.fn(function* ({ name, scope }) {
    const credentials = yield* PlatformCredentials
    const issued = yield* credentials.createLocally({ name, scopes: scope.length === 0 ? allScopes : scope })
    // The token alone on standard output, so that a script can take it; the rest is for the reader.
    yield* Console.error(`Platform credential "${issued.record.slug}", shown this once:`)
    yield* Console.log(Redacted.value(issued.token))
  }),
).pipe(
  Command.withDescription("Make a platform credential and print it once"),
  Command.provide(Layer.merge(backend("attach"), Logging.layer)),
)

const credentialCommand = Command.make("platform-credential").pipe(
  Command.withDescription("Credentials of the operator"),
  Command.withSubcommands([createCredential]),
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
).pipe(Command.withDescription("Write the OpenAPI documents"))

const keyshelf = Command.make("keyshelf").pipe(
  Command.withDescription("Licensing and entitlement service"),
  Command.withSubcommands([serveCommand, migrateCommand, credentialCommand, openapiCommand, demoCommand]),
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
      onSome: (error) => Console.error(error.message),
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
