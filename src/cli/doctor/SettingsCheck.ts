/** Settings as the service would read them, and variables that it would not read. */
import { ConfigProvider, Context, Effect, Exit, Layer } from "effect"
import { Settings } from "../../infra/Settings.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Finding } from "./Report.ts"

/** The settings, if they are right, with what was found. */
export interface SettingsReport {
  readonly settings: Settings["Service"] | undefined
  readonly findings: ReadonlyArray<Finding>
  /** The names of all settings that were read, set or not. Whole only if the settings are right. */
  readonly names: ReadonlyArray<string>
}

/** Builds the settings on a provider that notes every name that is asked for. */
export const read = Effect.fnUntraced(function* (provider: ConfigProvider.ConfigProvider) {
  const names = new Set<string>()
  const noting = ConfigProvider.make((path) => {
    names.add(path.join("_"))
    return provider.load(path)
  })
  const exit = yield* Layer.build(Layer.fresh(Settings.layer)).pipe(
    Effect.scoped,
    Effect.provideService(ConfigProvider.ConfigProvider, noting),
    Effect.map((context) => Context.get(context, Settings)),
    Effect.matchEffect({
      onSuccess: (settings) => Effect.succeed(Exit.succeed(settings)),
      onFailure: (error) => Effect.succeed(Exit.fail(error)),
    }),
  )
  return { exit, names: [...names].toSorted() }
})

const typos = (names: ReadonlyArray<string>, environment: NodeJS.ProcessEnv) =>
  Object.keys(environment)
    .filter((name) => name.startsWith("SERVICE_") && !names.includes(name))
    .map((name) => warning("settings", `${name} is set, but it is no setting of this version: correct or remove it.`))

/** Reads the settings of this process. */
export const check = Effect.fnUntraced(function* (environment: NodeJS.ProcessEnv) {
  const { exit, names } = yield* read(ConfigProvider.fromEnvRecord(environment))
  if (Exit.isFailure(exit)) {
    const message = exit.cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error.message : "")).join(" ")
    return {
      settings: undefined,
      names,
      findings: [failed("settings", `${message} What depends on the settings was not looked at: correct this first.`)],
    } satisfies SettingsReport
  }
  const set = names.filter((name) => (environment[name] ?? "").trim() !== "")
  return {
    settings: exit.value,
    names,
    findings: [
      ok("settings", set.length === 0 ? "none set, all at their defaults" : `set: ${set.join(", ")}`),
      ...typos(names, environment),
    ],
  } satisfies SettingsReport
})
