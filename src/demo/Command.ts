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

/** The credential from the flag, else from the first environment variable that is set. */
const credentialFrom = Effect.fnUntraced(function* (flag: Option.Option<Redacted.Redacted>) {
  if (Option.isSome(flag)) return flag.value
  for (const name of variables) {
    const value = yield* Effect.orDie(Config.option(Config.Redacted(name)))
    if (Option.isSome(value) && Redacted.value(value.value).trim() !== "") return value.value
  }
  return yield* new DemoFailed({
    message: `The demo needs a platform credential. Create one with \`npm run keyshelf -- platform-credential create\`, then set ${variables[0]} or pass --credential.`,
  })
})

export const demoCommand = Command.make(
  "demo",
  {
    core: origin("core", "http://127.0.0.1:8080", "URL of the Core API"),
    platform: origin("platform", "http://127.0.0.1:8081", "URL of the Platform API"),
    credential: Flag.Redacted("credential").pipe(
      Flag.withDescription(`The operator's platform credential; default: the value of ${variables.join(" or ")}`),
      Flag.optional,
    ),
  },
  Effect.fn(function* ({ core, credential, platform }) {
    const operator = yield* credentialFrom(credential)
    yield* play(operator).pipe(Effect.provide(Stage.layer({ core, platform })))
  }),
).pipe(Command.withDescription("Run the demo scenario against a running service, and print each request and response"))
