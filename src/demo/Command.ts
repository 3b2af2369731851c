/** `keyshelf demo`: plays the main story against a running service. */
import { Config, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { DemoFailed, Stage } from "./Demo.ts"
import { play } from "./Story.ts"

const variables = ["KEYSHELF_PLATFORM_CREDENTIAL", "SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL"]

const origin = (name: string, fallback: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(description),
    Flag.withDefault(fallback),
    Flag.map((url) => url.replace(/\/+(api\/*)?$/, "")),
  )

/** The flag, else the first variable that is set. */
const credentialFrom = Effect.fnUntraced(function* (flag: Option.Option<Redacted.Redacted>) {
  if (Option.isSome(flag)) return flag.value
  for (const name of variables) {
    const value = yield* Effect.orDie(Config.option(Config.Redacted(name)))
    if (Option.isSome(value) && Redacted.value(value.value).trim() !== "") return value.value
  }
  return yield* new DemoFailed({
    message: `The demo needs a platform credential: make one with \`npm run keyshelf -- platform-credential create\` and set ${variables[0]} to it, or pass --credential.`,
  })
})

export const demoCommand = Command.make(
  "demo",
  {
    core: origin("core", "http://127.0.0.1:8080", "Where the Core API answers"),
    platform: origin("platform", "http://127.0.0.1:8081", "Where the Platform API answers"),
    credential: Flag.Redacted("credential").pipe(
      Flag.withDescription(`The operator's platform credential; else that of ${variables.join(" or ")}`),
      Flag.optional,
    ),
  },
  Effect.fn(function* ({ core, credential, platform }) {
    const operator = yield* credentialFrom(credential)
    yield* play(operator).pipe(Effect.provide(Stage.layer({ core, platform })))
  }),
).pipe(Command.withDescription("Play the main story against a running service and show every call"))
