/** What OFREP, the OpenFeature Remote Evaluation Protocol, publishes of its requests and answers (its OpenAPI 0.3.0). */
import { Option, Predicate, Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** Why a flag was evaluated to its value. */
export const reasons = ["STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED"] as const

/** Why a flag was not evaluated. */
export const errorCodes = ["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT"] as const

/** Facts about whom a flag is evaluated for. */
export const Context = Schema.StructWithRest(
  Schema.Struct({
    targetingKey: Schema.optionalKey(Schema.String).annotate({
      description: "Who the flag is for; the slug of an instance for the flags of its entitlements",
    }),
  }),
  [Schema.Record(Schema.String, Schema.Unknown)],
)
export type Context = { readonly targetingKey?: string } & Readonly<Record<string, unknown>>

export const EvaluationRequest = Schema.Struct({ context: Context })

const metadata = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))

/** A flag's value. Without `value` the provider uses the default in the code. */
export const EvaluationSuccess = Schema.Struct({
  key: Schema.String,
  value: Schema.optionalKey(Schema.Unknown).annotate({
    description: "A value of the flag's type; absent: use the default in the code",
  }),
  reason: Schema.Literals(reasons),
  variant: Schema.optionalKey(Schema.String),
  metadata,
})
export type EvaluationSuccess = typeof EvaluationSuccess.Type

const failureOf = <const Code extends string>(codes: ReadonlyArray<Code>) =>
  Schema.Struct({ key: Schema.String, errorCode: Schema.Literals(codes), errorDetails: Schema.String })

export const EvaluationFailure = failureOf(errorCodes)
export const FlagNotFound = failureOf(["FLAG_NOT_FOUND"])

/** The evaluation of one flag. */
export type Evaluation = EvaluationSuccess | typeof EvaluationFailure.Type | typeof FlagNotFound.Type

/** All flags, each with its value or its failure. */
export const BulkEvaluation = Schema.Struct({
  flags: Schema.Array(Schema.Union([EvaluationSuccess, EvaluationFailure])),
  metadata,
})
export type BulkEvaluation = { readonly flags: ReadonlyArray<Evaluation>; readonly metadata: typeof metadata.Type }

export const BulkEvaluationFailure = Schema.Struct({
  errorCode: Schema.Literals(["PARSE_ERROR", "INVALID_CONTEXT"]),
  errorDetails: Schema.String,
})
export type RefusedRequest = typeof BulkEvaluationFailure.Type

/** The refusals, with their published statuses. */
export const failures = {
  evaluation: EvaluationFailure.pipe(HttpApiSchema.status(400)).annotate({ identifier: "Ofrep.EvaluationFailure" }),
  notFound: FlagNotFound.pipe(HttpApiSchema.status(404)).annotate({ identifier: "Ofrep.FlagNotFound" }),
  bulk: BulkEvaluationFailure.pipe(HttpApiSchema.status(400)).annotate({ identifier: "Ofrep.BulkEvaluationFailure" }),
}

const parsed = (text: string): Option.Option<unknown> => Option.liftThrowable(() => JSON.parse(text) as unknown)()

/** What the text of a request holds: a context, or what is wrong with it. */
export type FoundContext =
  | { readonly _tag: "Context"; readonly context: Context }
  | { readonly _tag: "Refused"; readonly failure: RefusedRequest }

const refused = (errorCode: RefusedRequest["errorCode"], errorDetails: string): FoundContext => ({
  _tag: "Refused",
  failure: { errorCode, errorDetails },
})

const isContext = Schema.is(Context)

/** The context in the text of a request. Members that OFREP does not publish are tolerated: it grows by them. */
export const contextIn = (text: string): FoundContext => {
  const body = Option.getOrUndefined(parsed(text))
  if (!Predicate.isObject(body)) return refused("PARSE_ERROR", "The body is not a JSON object.")
  const context: unknown = Reflect.get(body, "context")
  if (!Predicate.isObject(context)) {
    return refused("INVALID_CONTEXT", "The body has no `context` that is an object.")
  }
  return isContext(context)
    ? { _tag: "Context", context }
    : refused("INVALID_CONTEXT", "The `targetingKey` of the context is not a text.")
}
