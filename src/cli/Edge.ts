/** `keyshelf edge`: answers checks and flags beside products, for an origin that may be away (docs/edge.md). */
import { Config, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { readFile } from "node:fs/promises"
import { runEdge } from "../edge/Process.ts"
import { reason } from "../infra/embedded/Errors.ts"
import type { PinnedKeys } from "../offline/Model.ts"
import { CommandFailed } from "./Failure.ts"
import { originOf } from "./remote/connection/TargetRules.ts"

const MAX_PORT = 65_535
const MAX_INSTANCES = 1_000_000

const variableOf = (flag: string): string => `KEYSHELF_EDGE_${flag.toUpperCase().replaceAll("-", "_")}`

/** A flag, and the environment variable that sets it too. */
const text = (flag: string, about: string) => {
  const variable = variableOf(flag)
  return Flag.String(flag).pipe(
    Flag.withDescription(`${about}; or ${variable}`),
    Flag.withFallbackConfig(Config.String(variable)),
  )
}

const whole = (flag: string, max: number, value: number, about: string) =>
  Flag.Int(flag).pipe(
    Flag.withDescription(`${about}; default: ${value}; or ${variableOf(flag)}`),
    Flag.withFallbackConfig(Config.Int(variableOf(flag))),
    Flag.filter(
      (number) => number >= 1 && number <= max,
      () => `Expected a whole number, 1 to ${max}`,
    ),
    Flag.withDefault(value),
  )

const KeySet = Schema.fromJsonString(
  Schema.Struct({
    keys: Schema.Array(
      Schema.Struct({
        kty: Schema.String,
        crv: Schema.optionalKey(Schema.String),
        kid: Schema.optionalKey(Schema.String),
        x: Schema.optionalKey(Schema.String),
      }),
    ).check(Schema.isMinLength(1)),
  }),
)

/** The key set in a file, as `GET /offline/{organization}/keys` returns it. */
const readKeys = Effect.fnUntraced(function* (path: string) {
  const failed = (why: string) => new CommandFailed({ message: `The key set ${path} cannot be used: ${why}.` })
  const found = yield* Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: (cause) => failed(reason(cause)) })
  return yield* Schema.decodeUnknownEffect(KeySet)(found).pipe(
    Effect.map((set): PinnedKeys => set),
    Effect.mapError(() => failed("it is not a JSON Web Key Set, as the service publishes it")),
  )
})

/** Names and addresses of this machine alone. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

const requireAllowed = (host: string, allowRemote: boolean) =>
  allowRemote || LOOPBACK.test(host)
    ? Effect.void
    : new CommandFailed({
        message: `--host ${host} lets other machines in. Set --allow-remote if only those can reach it that should; tokens are sent without TLS.`,
      })

export const edgeCommand = Command.make(
  "edge",
  {
    origin: text("origin", "URL of the Core API that the edge stands before"),
    tokens: text("tokens", "File with tokens and license keys, one a line, that only its owner can read"),
    directory: text("directory", "Folder for what outlives a restart"),
    keys: text("keys", "File with the key set by which snapshots are verified; default: that of the origin").pipe(
      Flag.optional,
    ),
    host: text("host", "Address to listen on; default: 127.0.0.1").pipe(Flag.withDefault("127.0.0.1")),
    port: whole("port", MAX_PORT, 8089, "Port to listen on"),
    instances: whole("instances", MAX_INSTANCES, 10_000, "How many instances are kept; the least used go"),
    allowRemote: Flag.Boolean("allow-remote").pipe(
      Flag.withDescription(
        "Let other machines in: required for a --host other than loopback; or KEYSHELF_EDGE_ALLOW_REMOTE",
      ),
      Flag.withFallbackConfig(Config.Boolean("KEYSHELF_EDGE_ALLOW_REMOTE")),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ allowRemote, directory, host, instances, port, tokens, ...flags }) {
    const origin = yield* originOf("--origin", flags.origin)
    yield* requireAllowed(host, allowRemote)
    const keys = Option.isSome(flags.keys) ? yield* readKeys(flags.keys.value) : undefined
    yield* runEdge({ origin, tokens, directory, keys, host, port, maxInstances: instances })
  }),
).pipe(
  Command.withDescription(
    "Answer checks and flags beside products until SIGTERM, also while the service is away. Callers send a token or license key of the file; SIGHUP reads it again. Everything else is forwarded to the origin.",
  ),
  Command.withShortDescription("Answer checks and flags beside products, also while the service is away"),
  Command.withExamples([
    {
      command:
        "keyshelf edge --origin https://keyshelf.example.com --tokens /etc/keyshelf/tokens --directory /var/lib/keyshelf-edge",
      description: "On this machine",
    },
  ]),
)
