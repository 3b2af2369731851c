/** Reads single settings from environment variables. */
import { Config, Effect, Option, Schema, SchemaIssue } from "effect"

/** A missing or invalid setting. The message names it and says what is expected. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", { message: Schema.String }) {}

const describe = SchemaIssue.makeFormatterDefault()

/** The error of a value that is not as expected. */
export const failure = (name: string, expected: string) =>
  new SettingsError({ message: `${name} is not valid: ${expected.charAt(0).toLowerCase()}${expected.slice(1)}.` })

/** Reads a setting. An empty one counts as absent. */
export const optionalSetting = Effect.fnUntraced(function* <A>(name: string, schema: Schema.Codec<A, string>) {
  // Shells and compose files pass an unset variable as an empty string.
  const text = yield* Config.option(Config.String(name)).pipe(
    Effect.mapError(() => failure(name, "it cannot be read")),
    Effect.map(Option.filter((value) => value.trim() !== "")),
  )
  if (Option.isNone(text)) return Option.none<A>()
  return yield* Schema.decodeEffect(schema)(text.value).pipe(
    Effect.map(Option.some),
    // The message omits the value, which may be a secret in the wrong variable.
    Effect.mapError((error) => failure(name, describe(error.issue))),
  )
})

/** Reads a setting that has a default. */
export const setting = <A>(name: string, schema: Schema.Codec<A, string>, fallback: A) =>
  optionalSetting(name, schema).pipe(Effect.map(Option.getOrElse(() => fallback)))
