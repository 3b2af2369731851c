/** Requests and responses of OFREP, the OpenFeature Remote Evaluation Protocol (OpenAPI 0.3.0). */
import { Option, Predicate, Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { component } from "../../../kernel/contract/Component.ts"

/** Why an evaluation returned its value. */
const reasons = ["STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED"] as const

/** Why a flag could not be evaluated. */
const errorCodes = ["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT"] as const

/** Evaluation context: the attributes that targeting conditions compare. Its property `keyshelf` is ignored. */
export const Context = Schema.StructWithRest(
  Schema.Struct({
    targetingKey: Schema.optionalKey(Schema.String).annotate({
      description:
        "Identifies the subject of the evaluation. Except with a license key, entitlements and facts are those of the instance with this slug",
    }),
  }),
  [Schema.Record(Schema.String, Schema.Unknown)],
).annotate(component("EvaluationContext"))
export type Context = { readonly targetingKey?: string } & Readonly<Record<string, unknown>>

export const EvaluationRequest = Schema.Struct({ context: Context }).annotate(component("EvaluationRequest"))

const metadata = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))

/** A successful evaluation. Without `value` the provider uses the default in the code. */
export const EvaluationSuccess = Schema.Struct({
  key: Schema.String,
  value: Schema.optionalKey(Schema.Unknown).annotate({
    description: "Value of the flag's type; if absent, use the default in your code",
  }),
  reason: Schema.Literals(reasons).annotate(component("EvaluationReason", "STATIC")),
  variant: Schema.optionalKey(Schema.String),
  metadata,
}).annotate(
  component("EvaluationSuccess", {
    key: "new-dashboard",
    value: true,
    variant: "on",
    metadata: { fallback_value: false },
  }),
)
export type EvaluationSuccess = typeof EvaluationSuccess.Type

const failureOf = <const Code extends string>(codes: Schema.Literals<ReadonlyArray<Code>>) =>
  Schema.Struct({ key: Schema.String, errorCode: codes, errorDetails: Schema.String })

const EvaluationFailure = failureOf(Schema.Literals(errorCodes).annotate(component("EvaluationErrorCode"))).annotate(
  component("EvaluationFailure"),
)
const FlagNotFound = failureOf(Schema.Literals(["FLAG_NOT_FOUND"])).annotate(component("EvaluationFlagNotFound"))

/** Result of evaluating one flag. */
export type Evaluation = EvaluationSuccess | typeof EvaluationFailure.Type | typeof FlagNotFound.Type

const notFound = (key: string, errorDetails: string): Evaluation => ({ key, errorCode: "FLAG_NOT_FOUND", errorDetails })

/** The result for a key that no flag has. */
export const flagNotFound = (key: string): Evaluation => notFound(key, `The flag "${key}" does not exist.`)

/** The result for the key of an entitlement that does not exist, or of an instance that does not. */
export const entitlementNotFound = (key: string): Evaluation =>
  notFound(
    key,
    `The flag "${key}" or the instance in the targeting key does not exist. Check the entitlement's slug and the instance's slug.`,
  )

/** The order of evaluations in a response. */
export const byKey = (left: { readonly key: string }, right: { readonly key: string }): number =>
  left.key < right.key ? -1 : 1

/** A stream that says when to evaluate again. */
const EventStream = Schema.Struct({
  type: Schema.Literal("sse"),
  endpoint: Schema.Struct({
    requestUri: Schema.String.annotate({ description: "Path and ticket, for the origin of this response" }),
  }).annotate(component("EvaluationStreamEndpoint", { requestUri: "/api/ofrep/v1/streams/kst_..." })),
  inactivityDelaySec: Schema.Int.annotate({
    description: "Seconds that a page may be in the background before it closes the stream",
  }),
}).annotate(
  component("EvaluationEventStream", {
    endpoint: { requestUri: "/api/ofrep/v1/streams/kst_..." },
    inactivityDelaySec: 120,
  }),
)

/** Result of evaluating all flags, each with its value or its error. */
export const BulkEvaluation = Schema.Struct({
  flags: Schema.Array(Schema.Union([EvaluationSuccess, EvaluationFailure])),
  metadata,
  eventStreams: Schema.optionalKey(Schema.Array(EventStream)).annotate({
    description: "Where to follow changes. Absent in responses to requests with an `Idempotency-Key`, which are stored",
  }),
}).annotate(
  component("BulkEvaluation", {
    flags: [{ key: "new-dashboard", value: true, reason: "STATIC", variant: "on", metadata: {} }],
    metadata: {},
  }),
)
export type BulkEvaluation = { readonly flags: ReadonlyArray<Evaluation>; readonly metadata: typeof metadata.Type }

/** The stream of a ticket, as a bulk evaluation names it. */
export const eventStreamOf = (ticket: string): typeof EventStream.Type => ({
  type: "sse",
  endpoint: { requestUri: `/api/ofrep/v1/streams/${ticket}` },
  inactivityDelaySec: 120,
})

const BulkEvaluationFailure = Schema.Struct({
  errorCode: Schema.Literals(["PARSE_ERROR", "INVALID_CONTEXT"]).annotate(component("BulkEvaluationErrorCode")),
  errorDetails: Schema.String,
}).annotate(component("BulkEvaluationFailure"))
export type RequestError = typeof BulkEvaluationFailure.Type

/** Error responses with the statuses that OFREP defines. */
export const errorResponses = {
  evaluation: EvaluationFailure.pipe(HttpApiSchema.status(400)).annotate({ identifier: "Ofrep.EvaluationFailure" }),
  notFound: FlagNotFound.pipe(HttpApiSchema.status(404)).annotate({ identifier: "Ofrep.FlagNotFound" }),
  bulk: BulkEvaluationFailure.pipe(HttpApiSchema.status(400)).annotate({ identifier: "Ofrep.BulkEvaluationFailure" }),
}

const parsed = (text: string): Option.Option<unknown> => Option.liftThrowable(() => JSON.parse(text) as unknown)()

/** Result of parsing a request body: the context, or the error to return. */
type ParsedContext =
  | { readonly _tag: "Context"; readonly context: Context }
  | { readonly _tag: "Rejected"; readonly failure: RequestError }

const invalid = (errorCode: RequestError["errorCode"], errorDetails: string): ParsedContext => ({
  _tag: "Rejected",
  failure: { errorCode, errorDetails },
})

const isContext = Schema.is(Context)

/** Parses the context from a request body. Unknown properties are ignored, so that newer OFREP clients work. */
export const parseContext = (text: string): ParsedContext => {
  const body = Option.getOrUndefined(parsed(text))
  if (!Predicate.isObject(body)) return invalid("PARSE_ERROR", "The body is not a JSON object.")
  const context: unknown = Reflect.get(body, "context")
  if (!Predicate.isObject(context)) {
    return invalid("INVALID_CONTEXT", "The property `context` must be an object.")
  }
  return isContext(context)
    ? { _tag: "Context", context }
    : invalid("INVALID_CONTEXT", "The property `context.targetingKey` must be a string.")
}
