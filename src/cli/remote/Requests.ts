/** Builds the request that a command line describes. */
import { Effect, Option, Predicate, Schema } from "effect"
import { CommandFailed } from "../Failure.ts"
import { fileInput, readText, standardInput } from "../input/Input.ts"
import type { Given } from "./Flags.ts"
import type { Request } from "./connection/Service.ts"
import { asking } from "./connection/Target.ts"
import type { Operation } from "./Operations.ts"

/** What a user gave, by the names of `flagsFor`. */
interface Values {
  readonly options: {
    readonly idempotencyKey?: Option.Option<string>
    /** The whole body. */
    readonly body?: Option.Option<string>
  }
  readonly path: Readonly<Record<string, string>>
  readonly query: Given
  readonly body: Given
}

const Json = Schema.fromJsonString(Schema.Json)

const isJsonObject = (json: Schema.Json): json is Schema.JsonObject => Predicate.isObject(json)

const presentIn = (given: Given): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries(given).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value] as const] : []))

const read = (source: string): Effect.Effect<string, CommandFailed> => {
  if (source === "-") return readText("The body", standardInput)
  return source.startsWith("@") ? readText("The body", fileInput(source.slice(1))) : Effect.succeed(source)
}

/** The body from `--body`, with the properties of the other flags. */
const bodyOf = Effect.fnUntraced(function* ({ body, options }: Values) {
  // Every value was read from a flag, so it is text, a number, a switch, a list of texts, or JSON.
  const properties = presentIn(body) as ReadonlyArray<readonly [string, Schema.Json]>
  const source = options.body ?? Option.none()
  if (Option.isNone(source)) return Object.fromEntries(properties)
  const whole = yield* Schema.decodeUnknownEffect(Json)(yield* read(source.value)).pipe(
    Effect.mapError((error) => new CommandFailed({ message: `The body is not JSON. ${error.message}` })),
  )
  if (properties.length === 0) return whole
  if (!isJsonObject(whole)) {
    return yield* new CommandFailed({ message: "Flags cannot be added to a body that is not a JSON object." })
  }
  return Object.fromEntries([...Object.entries(whole), ...properties])
})

/** The request of an operation with these values. A POST is sent with a key, so that it can be retried. */
const requestOf = Effect.fnUntraced(function* (operation: Operation, values: Values) {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values.path[name] ?? ""))
  const query = presentIn(values.query).map(
    ([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)] as const,
  )
  return {
    method: operation.method,
    path,
    query: Object.fromEntries(query),
    body: operation.body !== null ? Option.some(yield* bodyOf(values)) : Option.none(),
    idempotencyKey: operation.takesIdempotencyKey
      ? Option.orElseSome(values.options.idempotencyKey ?? Option.none(), () => globalThis.crypto.randomUUID())
      : Option.none(),
    promised: operation.promised,
  } satisfies Request
})

/** Runs a command with the request of its operation, against the service that its flags choose. */
export const asked = Effect.fnUntraced(function* <A, E, R>(
  operation: Operation,
  flags: Values & Parameters<typeof asking>[0],
  command: (request: Request) => Effect.Effect<A, E, R>,
) {
  return yield* asking(flags, Effect.flatMap(requestOf(operation, flags), command), operation.path)
})
