/** `keyshelf profile`: stores services, each with a credential for it. */
import { Console, Effect, Redacted } from "effect"
import { Argument, Command, Flag, Prompt } from "effect/cli"
import { CommandFailed } from "../Failure.ts"
import { table } from "../Table.ts"
import { json, recordText } from "./Output.ts"
import { readText, standardInput } from "../input/Input.ts"
import { readProfiles, writeProfiles } from "./connection/Profiles.ts"
import { Service } from "./connection/Service.ts"
import { originOf, tokenOf } from "./connection/TargetRules.ts"
import { identity } from "./WhoAmI.ts"
import { commandLine } from "../../infra/PackageFiles.ts"

const name = Argument.String("name").pipe(
  Argument.withDescription("Name of the profile"),
  Argument.filter(
    (text) => /^[\w.-]{1,64}$/.test(text),
    () => "Expected 1 to 64 letters, digits, dots, dashes or underscores",
  ),
)

/** The token is not an argument: other users of the machine can read the arguments of a process. */
const readToken = Effect.gen(function* () {
  const text = process.stdin.isTTY
    ? Redacted.value(yield* Prompt.run(Prompt.Password({ message: "Token" })))
    : yield* readText("The token", standardInput)
  return yield* tokenOf("The token on standard input", text)
})

const set = Command.make(
  "set",
  {
    name,
    url: Flag.String("url").pipe(
      Flag.withDescription("URL of the service: of the Core API's listener, or of the Platform API's for an operator"),
    ),
  },
  Effect.fn(function* ({ name, url }) {
    const target = { url: yield* originOf("--url", url), token: yield* readToken }
    const me = yield* identity.pipe(Effect.provide(Service.layer(target)))
    const { current, profiles } = yield* readProfiles
    yield* writeProfiles({ current: current ?? name, profiles: { ...profiles, [name]: target } })
    yield* Console.log(recordText(me))
    yield* Console.error(`Stored the profile "${name}".`)
  }),
).pipe(
  Command.withDescription(
    "Store a service and a credential under a name. The token is read from standard input, or from a prompt on a terminal. It is stored only if the service accepts it. The first profile becomes the current one.",
  ),
  Command.withShortDescription("Store a service and a credential under a name"),
  Command.withExamples([{ command: "keyshelf profile set production --url https://keyshelf.example.com < token.txt" }]),
)

const requireKnown = Effect.fnUntraced(function* (name: string) {
  const stored = yield* readProfiles
  if (Object.hasOwn(stored.profiles, name)) return stored
  return yield* new CommandFailed({
    message: `No profile "${name}" is stored. List them with \`${commandLine("profile list")}\`.`,
  })
})

const list = Command.make(
  "list",
  { json: Flag.Boolean("json").pipe(Flag.withDescription("Print the profiles as JSON"), Flag.withDefault(false)) },
  Effect.fn(function* ({ json: isJson }) {
    const { current, profiles } = yield* readProfiles
    const rows = Object.entries(profiles).map(([name, { url }]) => ({ name, url, isCurrent: name === current }))
    if (isJson) return yield* Console.log(json(rows))
    if (rows.length === 0) return yield* Console.error("No profile is stored.")
    yield* Console.log(
      table(
        ["name", "url", "current"],
        rows.map(({ isCurrent, name, url }) => [name, url, isCurrent ? "yes" : ""]),
      ),
    )
  }),
).pipe(Command.withDescription("List the stored profiles, without their tokens"))

const use = Command.make(
  "use",
  { name },
  Effect.fn(function* ({ name }) {
    const stored = yield* requireKnown(name)
    yield* writeProfiles({ ...stored, current: name })
    yield* Console.error(`The current profile is "${name}".`)
  }),
).pipe(Command.withDescription("Make a profile the current one"))

const remove = Command.make(
  "remove",
  { name },
  Effect.fn(function* ({ name }) {
    const { current, profiles } = yield* requireKnown(name)
    const { [name]: _removed, ...others } = profiles
    yield* writeProfiles({ current: current === name ? null : current, profiles: others })
    yield* Console.error(`Removed the profile "${name}". Its token is still valid: revoke it if it is no longer used.`)
  }),
).pipe(Command.withDescription("Remove a profile"))

export const profileCommand = Command.make("profile").pipe(
  Command.withDescription("Store services, each with a credential for it"),
  Command.withSubcommands([set, list, use, remove]),
)
