/** Checks the settings as the service reads them, and finds variables that it does not read. */
import { ConfigProvider, Context, Effect, Exit, Layer } from "effect"
import { Settings } from "../../infra/Settings.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Finding } from "./Report.ts"

/** The findings, and the settings if they are valid. */
interface SettingsReport {
  readonly settings: Settings["Service"] | undefined
  readonly findings: ReadonlyArray<Finding>
  /** The names of all settings that were read, set or not. Complete only if the settings are valid. */
  readonly names: ReadonlyArray<string>
}

/** Reads the settings from a provider, and records every name that is read. */
export const readSettings = Effect.fnUntraced(function* (provider: ConfigProvider.ConfigProvider) {
  const names = new Set<string>()
  const recording = ConfigProvider.make((path) => {
    names.add(path.join("_"))
    return provider.load(path)
  })
  const exit = yield* Layer.build(Layer.fresh(Settings.layer)).pipe(
    Effect.scoped,
    Effect.provideService(ConfigProvider.ConfigProvider, recording),
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
    .map((name) => warning("settings", `${name} is set, but this version has no such setting: correct or remove it.`))

/** Checks the settings of this process. */
export const check = Effect.fnUntraced(function* (environment: NodeJS.ProcessEnv) {
  const { exit, names } = yield* readSettings(ConfigProvider.fromEnvRecord(environment))
  if (Exit.isFailure(exit)) {
    const message = exit.cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error.message : "")).join(" ")
    return {
      settings: undefined,
      names,
      findings: [
        failed("settings", `${message} Correct this first: the other checks need valid settings and were skipped.`),
      ],
    } satisfies SettingsReport
  }
  const set = names.filter((name) => (environment[name] ?? "").trim() !== "")
  return {
    settings: exit.value,
    names,
    findings: [
      ok("settings", set.length === 0 ? "none is set, all have their defaults" : `set: ${set.join(", ")}`),
      ...typos(names, environment),
    ],
  } satisfies SettingsReport
})
