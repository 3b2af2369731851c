/** The flags and arguments of an operation. */
import { Effect, Option, Schema, String as Str } from "effect"
import { Argument, CliError, Flag } from "effect/cli"
import { now } from "../../kernel/values/Timestamp.ts"
import { forms, instant } from "./Instants.ts"
import type { Input, Operation } from "./Operations.ts"

/** What a user gave for the values of one place, by their names. */
export type Given = Readonly<Record<string, Option.Option<unknown>>>

/** The name of a flag: `externalCustomerId` is `--external-customer-id`. */
export const flagName = (name: string): string => Str.kebabCase(name)

const Json = Schema.fromJsonString(Schema.Json)

const plain = (description: string | undefined) => (description ?? "").replaceAll("`", "")

/** A flag for a time. With `isPast` the value may also be how long ago. */
export const instantFlag = (name: string, isPast: boolean) =>
  Flag.String(name).pipe(
    Flag.mapEffect((value) =>
      Effect.flatMap(now, (at) =>
        Effect.fromOption(instant(value, isPast ? at : undefined)).pipe(
          Effect.mapError(
            () =>
              new CliError.InvalidValue({
                option: name,
                value,
                expected: isPast ? forms.past : forms.any,
                kind: "flag",
              }),
          ),
        ),
      ),
    ),
    Flag.withMetavar("time"),
  )

/** Times that may be given as how long ago. Other times may be in the future, where `24h` would be ambiguous. */
const PAST: ReadonlyArray<string> = ["since", "until"]

/** The flag of a value. No flag is required: `--body` may contain the value, and the service names what is missing. */
const flagOf = (input: Input): Flag.Flag<Option.Option<unknown>> => {
  const name = flagName(input.name)
  const isPast = PAST.includes(input.name)
  const { notation } = input
  const described = <A>(flag: Flag.Flag<A>, hint = ""): Flag.Flag<A> => {
    const parts = [plain(input.description), hint, input.isRequired ? "required" : ""]
    return Flag.withDescription(flag, parts.filter((part) => part !== "").join("; "))
  }
  switch (notation.kind) {
    case "text":
      return Flag.optional(described(Flag.String(name)))
    case "instant":
      return Flag.optional(described(instantFlag(name, isPast), isPast ? "also how long ago, such as 24h" : ""))
    case "number":
      return Flag.optional(described(Flag.Finite(name)))
    case "switch":
      return Flag.optional(described(Flag.Boolean(name)))
    case "words":
      return Flag.optional(described(Flag.Literals(name, notation.words)))
    case "texts":
      return described(
        Flag.String(name).pipe(
          Flag.between(0, 1000),
          Flag.map((texts) => (texts.length === 0 ? Option.none() : Option.some(texts))),
        ),
        "can be repeated",
      )
    case "json":
      return Flag.optional(
        described(Flag.String(name).pipe(Flag.withSchema(Json), Flag.withMetavar("json")), "as JSON"),
      )
  }
}

const flagsOf = (inputs: ReadonlyArray<Input>) => Object.fromEntries(inputs.map((input) => [input.name, flagOf(input)]))

/** The flags of every command that calls a service. */
export const common = {
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print JSON as the service returns it"),
    Flag.withDefault(false),
  ),
  profile: Flag.String("profile").pipe(
    Flag.withDescription("The stored profile to use, see keyshelf profile"),
    Flag.optional,
  ),
}

/** The flag of an operation that is executed once, however often it is sent. */
export const idempotencyKey = Flag.String("idempotency-key").pipe(
  Flag.withDescription("Your own key: a repeated command with the same key is executed once within 24 hours"),
  Flag.optional,
)

const wholeBody = Flag.String("body").pipe(
  Flag.withDescription("The body as JSON, @file, or - for standard input; other flags replace its properties"),
  Flag.withMetavar("json"),
  Flag.optional,
)

/** The argument for a part of a path. */
export const pathArgument = (name: string, description: string) =>
  Argument.String(name).pipe(
    // In a path, these would name another resource.
    Argument.filter(
      (text) => !["", ".", ".."].includes(text),
      () => "Expected a name, not a path",
    ),
    Argument.withDescription(description),
  )

/** The flags and arguments of an operation. The values of path, query and body are under these names. */
export const flagsFor = (operation: Operation) => ({
  ...common,
  options: {
    ...(operation.takesIdempotencyKey ? { idempotencyKey } : {}),
    ...(operation.body !== null ? { body: wholeBody } : {}),
  },
  path: Object.fromEntries(
    operation.pathInputs.map(({ description, name }) => [name, pathArgument(flagName(name), plain(description))]),
  ),
  query: flagsOf(operation.queryInputs),
  body: flagsOf(operation.bodyInputs),
})
