/** `keyshelf mcp`: tools for assistants (docs/assistants.md). */
import { Console, Effect, Logger, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed } from "../../Failure.ts"
import { Service } from "../connection/Service.ts"
import { asking } from "../connection/Target.ts"
import { common } from "../Flags.ts"
import { identity } from "../WhoAmI.ts"
import { readDefinitions } from "./Definitions.ts"
import { toolsFor } from "./Selection.ts"

const Identity = Schema.Struct({
  identity: Schema.Struct({ name: Schema.String }),
  organization: Schema.Struct({ slug: Schema.String }),
  kind: Schema.String,
  role: Schema.optionalKey(Schema.NullOr(Schema.String)),
  scopes: Schema.Array(Schema.String),
})

// Standard output carries the protocol alone.
const logToStderr = Effect.provideService(Logger.LogToStderr, true)

const serve = Effect.fnUntraced(function* (write: boolean) {
  const { isOperator, url } = yield* Service
  if (isOperator) {
    return yield* new CommandFailed({
      message: "This command needs a token of an organization. A platform credential has no tools.",
    })
  }
  const me = yield* Schema.decodeUnknownEffect(Identity)(yield* identity).pipe(
    Effect.mapError(() => new CommandFailed({ message: `${url} does not say who the token belongs to.` })),
  )
  // Loaded only here, like the server: it needs the definitions of the whole API.
  const { definitionsFor } = yield* Effect.promise(() => import("./Callers.ts"))
  const tools = toolsFor(definitionsFor(readDefinitions(), me), { scopes: me.scopes, write })
  yield* Console.error(
    `Keyshelf: ${tools.length} tools for ${me.identity.name} of ${me.organization.slug}${write ? "" : ", which read only"}`,
  )
  // Loaded only here: no other command needs it.
  const { serveTools } = yield* Effect.promise(() => import("./Server.ts"))
  return yield* serveTools(tools)
})

export const mcpCommand = Command.make(
  "mcp",
  {
    profile: common.profile,
    write: Flag.Boolean("write").pipe(
      Flag.withDescription("Also offer tools that change something, each after a dry run and a confirmation"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ profile, write }) {
    yield* logToStderr(asking({ profile, json: false }, serve(write)))
  }),
).pipe(
  Command.withDescription(
    "Serve tools for assistants over standard input and output (Model Context Protocol). The scopes of the token decide which tools there are.",
  ),
  Command.withShortDescription("Serve tools for assistants (Model Context Protocol)"),
)
