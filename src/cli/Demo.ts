/** `keyshelf demo`: plays the main story against a running service. */
import { Config, Console, Effect, Layer, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { commandLine } from "../infra/PackageFiles.ts"
import { reachableHost } from "../infra/HostUrl.ts"
import { Settings } from "../infra/Settings.ts"
import { backend } from "../app/Process.ts"
import { DemoFailed, Stage } from "../demo/Demo.ts"
import { furnish } from "../demo/Furnish.ts"
import type { Furnished } from "../demo/Furnish.ts"
import { reportPastUsage } from "../demo/PastUsage.ts"
import { play } from "../demo/Story.ts"
import * as Logging from "../infra/telemetry/Logging.ts"
import { databaseExists } from "./database/EmbeddedState.ts"
import { originOf, tokenOf } from "./remote/connection/TargetRules.ts"

const variables = ["KEYSHELF_PLATFORM_CREDENTIAL", "SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL"]

const origin = (name: string, setting: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${description}; default: that of ${setting}`), Flag.optional)

/** The listeners of the service that runs with the settings of this environment. */
const configuredOrigins = Effect.gen(function* () {
  const { corePort, host, platformPort, webhooksPort } = yield* Settings
  const at = (port: number) => `http://${reachableHost(host)}:${port}`
  return { core: at(corePort), platform: at(platformPort), webhooks: Option.map(webhooksPort, at) }
}).pipe(Effect.provide(Settings.layer))

/** The credential from the flag, else from the first environment variable that is set. */
const credentialFrom = Effect.fnUntraced(function* (flag: Option.Option<Redacted.Redacted>) {
  if (Option.isSome(flag)) return yield* tokenOf("--credential", Redacted.value(flag.value))
  for (const name of variables) {
    const value = yield* Effect.orDie(Config.option(Config.Redacted(name)))
    const text = Option.match(value, { onNone: () => "", onSome: Redacted.value })
    if (text.trim() !== "") return yield* tokenOf(name, text)
  }
  return yield* new DemoFailed({
    message: `The demo needs a platform credential. Create one with \`${commandLine("platform-credential create")}\`, then set ${variables[0]} or pass --credential.`,
  })
})

/** What to try first. The token is printed, because the user needs it to explore the organization. */
const invitation = ({ instances, organizationName, token }: Furnished, core: string) =>
  [
    `The organization "${organizationName}" is ready. Its token, shown this once:`,
    `  ${Redacted.value(token)}`,
    "",
    `Paste it at ${core}/console to look around, or at ${core}/docs to try requests. Or in a shell:`,
    `  TOKEN=${Redacted.value(token)}`,
    `  curl -s "${core}/api/customers?q=globex" -H "authorization: Bearer $TOKEN"`,
    `  curl -s ${core}/api/instances/${instances[0]?.slug}/entitlements/usage -H "authorization: Bearer $TOKEN"`,
    `  curl -s "${core}/api/webhooks/history?state=Failure" -H "authorization: Bearer $TOKEN"`,
    "",
  ].join("\n")

/** Adds the usage that is too old for the API, where this process has the service's database. */
const addPastUsage = Effect.fnUntraced(function* (furnished: Furnished) {
  if (!(yield* databaseExists.pipe(Effect.provide(Settings.layer)))) {
    return yield* Console.log(
      "  no older usage: these settings name no database, and there is none in the data directory",
    )
  }
  yield* reportPastUsage(furnished).pipe(
    Effect.andThen(Console.log("  the usage of a year")),
    Effect.provide(Layer.merge(backend("attach"), Logging.layer)),
    // The rest is complete without it.
    Effect.catch((error) => Console.log(`  no older usage: ${error.message}`)),
  )
})

export const demoCommand = Command.make(
  "demo",
  {
    core: origin("core", "SERVICE_HOST and SERVICE_CORE_PORT", "URL of the Core API"),
    platform: origin("platform", "SERVICE_HOST and SERVICE_PLATFORM_PORT", "URL of the Platform API"),
    credential: Flag.Redacted("credential").pipe(
      Flag.withDescription(`The operator's platform credential; default: the value of ${variables.join(" or ")}`),
      Flag.optional,
    ),
    keep: Flag.Boolean("keep").pipe(
      Flag.withDescription(
        "Leave a furnished organization instead: 50 customers, 200 instances, a year of usage. Prints its token",
      ),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ credential, keep, ...urls }) {
    const operator = yield* credentialFrom(credential)
    const core = yield* Effect.transposeOption(Option.map(urls.core, (url) => originOf("--core", url)))
    const platform = yield* Effect.transposeOption(Option.map(urls.platform, (url) => originOf("--platform", url)))
    const configured = yield* configuredOrigins
    const coreUrl = Option.getOrElse(core, () => configured.core)
    const origins = {
      core: coreUrl,
      platform: Option.getOrElse(platform, () => configured.platform),
      // A service other than the configured one is assumed to serve everything on its core listener.
      webhooks: Option.isSome(core) ? coreUrl : Option.getOrElse(configured.webhooks, () => coreUrl),
    }
    if (!keep) return yield* play(operator).pipe(Effect.provide(Stage.layer(origins)))
    const furnished = yield* furnish(operator).pipe(Effect.provide(Stage.quiet(origins)))
    if (Option.isNone(core) && Option.isNone(platform)) yield* addPastUsage(furnished)
    else yield* Console.log("  no older usage: that needs the database, and so the settings of the service")
    yield* Console.log(`\n${invitation(furnished, coreUrl)}`)
  }),
).pipe(Command.withDescription("Run the demo scenario against a running service, and print each request and response"))
