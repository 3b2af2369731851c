/**
 * Problem documents (RFC 9457), the format of all error responses. Domains declare their problems with {@link Problem}.
 * The runtime sets `instance` and returns the problems that no endpoint declares (unknown path, defect, oversized
 * body).
 */
import { Effect, Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { component } from "./Component.ts"
import { DeletionImpact } from "./dryruns/Impact.ts"

/** A validation error: its place in the request (`body.items[3].name`), a message, and the value that was sent. */
export const ValidationError = Schema.Struct({
  location: Schema.String.annotate({
    description: "Location of the error in the request, e.g. `body.items[3].name`, `query.limit`, `path.orgId`",
  }),
  message: Schema.String.annotate({ description: "What is wrong with the value" }),
  value: Schema.optionalKey(Schema.Unknown).annotate({ description: "The value that was sent, unless it is a secret" }),
}).annotate(component("ValidationError", { location: "body.name", message: "required" }))
export type ValidationError = typeof ValidationError.Type

const fieldsOf = <const Code extends string>(code: Code) => ({
  code: Schema.tag(code),
  detail: Schema.String.annotate({ description: "Human-readable explanation of this occurrence" }),
  instance: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed(""))).annotate({
    description: "Path of the request",
  }),
  errorId: Schema.String.pipe(
    Schema.withConstructorDefault(Effect.sync(() => globalThis.crypto.randomUUID())),
  ).annotate({ description: "UUID of this occurrence; the service logs it too" }),
  errors: Schema.Array(ValidationError).pipe(Schema.withConstructorDefault(Effect.succeed([]))),
})

type ProblemOf<Self, Code extends string, Status extends number, Extensions = {}> = HttpApiError.ProblemClass<
  Self,
  Code,
  `urn:keyshelf:problem:${Code}`,
  Status,
  ReturnType<typeof fieldsOf<Code>> & Extensions,
  {}
>

/** The annotation with the code of a problem class. */
export const PROBLEM_CODE = "keyshelfProblemCode"

const declareProblem = <const Code extends string, const Status extends number>(
  code: Code,
  status: Status,
  title: string,
  { extensions = {}, name = code }: { readonly extensions?: Schema.Struct.Fields; readonly name?: string } = {},
) =>
  HttpApiError.Problem<unknown>()(
    code,
    { type: `urn:keyshelf:problem:${code}`, status, title },
    { ...fieldsOf(code), ...extensions },
    { identifier: name, [PROBLEM_CODE]: code },
  )

/**
 * Declares a problem as a yieldable error class: `new CustomerNotFound({ detail })`. `code` is the machine code and
 * the tag for `Effect.catchTag`; the problem's `type` is `urn:keyshelf:problem:<code>`. A code that occurs with a second
 * status needs a second `name` in the OpenAPI documents.
 */
export const Problem =
  <Self>() =>
  <const Code extends string, const Status extends number>(
    code: Code,
    status: Status,
    title: string,
    name: string = code,
  ): ProblemOf<Self, Code, Status> =>
    declareProblem(code, status, title, { name }) as unknown as ProblemOf<Self, Code, Status>

/** Declares a 409 that names other records: its `impact` is that of the rejected change. */
export const ImpactProblem =
  <Self>() =>
  <const Code extends string, Impact extends Schema.Top>(
    code: Code,
    title: string,
    impact: Impact,
  ): ProblemOf<Self, Code, 409, { readonly impact: Impact }> =>
    declareProblem(code, 409, title, { extensions: { impact } }) as unknown as ProblemOf<
      Self,
      Code,
      409,
      { readonly impact: Impact }
    >

/** Declares the 409 of a deletion that other records block. Its `impact` lists them. */
export const DeletionProblem =
  <Self>() =>
  <const Code extends string>(code: Code, title: string) =>
    ImpactProblem<Self>()(code, title, DeletionImpact)

/** The body is not JSON. */
export class MalformedBody extends Problem<MalformedBody>()(
  "Request.MalformedBody",
  400,
  "The body is not valid JSON",
) {}

/** The cursor was not issued by this list of this organization, or was altered. */
export class InvalidCursor extends Problem<InvalidCursor>()("Request.InvalidCursor", 400, "The cursor is not valid") {}

/** A part of the request has a wrong shape, or names something that does not exist. `errors` lists the places. */
export class ValidationFailed extends Problem<ValidationFailed>()(
  "Request.ValidationFailed",
  422,
  "The request is not valid",
) {}

/** The operation has no representation that the `Accept` header allows. */
export class NotAcceptable extends Problem<NotAcceptable>()(
  "Request.NotAcceptable",
  406,
  "No accepted media type is available",
) {}

/** The error for every credential that is missing, unknown, altered, expired or revoked. */
export class InvalidCredential extends Problem<InvalidCredential>()(
  "Auth.InvalidCredential",
  401,
  "The credential did not work",
) {}

/** It never says why, so that it reveals nothing about tokens. */
export const invalidCredential = () =>
  new InvalidCredential({ detail: "The credential is missing or not valid. The reason is not disclosed." })

/** The credential is valid but has no scope for this operation. */
export class MissingScope extends Problem<MissingScope>()("Auth.MissingScope", 403, "The credential lacks a scope") {}

/** The person's token is valid but names no organization that the person belongs to. */
export class NotAMember extends Problem<NotAMember>()("Auth.NotAMember", 403, "Not a member of the organization") {}

/** People need the role `ADMIN` for this operation. */
export class AdminOnly extends Problem<AdminOnly>()("Auth.AdminOnly", 403, "Only admins may do this") {}

/** The Platform listener received another kind of credential. */
export class WrongCredentialKind extends Problem<WrongCredentialKind>()(
  "Auth.WrongCredentialKind",
  403,
  "This listener takes platform credentials only",
) {}

/** The credential exceeded its rate limit. `Retry-After` says when to retry. */
export class RateLimited extends Problem<RateLimited>()("Request.RateLimited", 429, "Too many requests") {}

/** The `Idempotency-Key` was already used for another request. */
export class IdempotencyKeyReused extends Problem<IdempotencyKeyReused>()(
  "IdempotencyKey.Reused",
  422,
  "The idempotency key belongs to another request",
) {}

/** The first request with this `Idempotency-Key` is still running. */
export class IdempotencyKeyInFlight extends Problem<IdempotencyKeyInFlight>()(
  "IdempotencyKey.InFlight",
  409,
  "A request with this idempotency key is still running",
) {}

/** The first response contained a secret, so it was not stored and cannot be replayed. */
export class SecretNotReplayable extends Problem<SecretNotReplayable>()(
  "IdempotencyKey.SecretNotReplayable",
  409,
  "The first answer held a secret and is not kept",
) {}

/** A validation error at one place, e.g. `invalid("body.licenseSlug", "must be the slug of an existing license", slug)`. */
export const invalid = (location: string, message: string, value?: unknown): ValidationFailed =>
  new ValidationFailed({
    detail: `${location} ${message}.`,
    errors: [value === undefined ? { location, message } : { location, message, value }],
  })

/** The validation errors as one text, for a `detail`. */
export const describeErrors = (errors: ReadonlyArray<ValidationError>): string =>
  errors.map(({ location, message }) => `${location} ${message}`).join("; ")

/** Limits the response to a request with many errors, which could otherwise be larger than the request. */
export const MAX_ERRORS = 100

/** The problem of a request with these validation errors. */
export const withErrors = (all: ReadonlyArray<ValidationError>, detail?: string): ValidationFailed => {
  const errors = all.slice(0, MAX_ERRORS)
  return new ValidationFailed({ detail: detail ?? `${describeErrors(errors)}.`, errors })
}

/** Fails with the validation errors of a request, if there are any. */
export const failWithErrors = (
  errors: ReadonlyArray<ValidationError>,
  detail?: string,
): Effect.Effect<void, ValidationFailed> =>
  errors.length === 0 ? Effect.void : Effect.fail(withErrors(errors, detail))

/** The `detail` of a look-up without a result. */
export const noSuch = (kind: string, name: string): string => `There is no ${kind} "${name}".`

/** The body of an error response. */
export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly instance: string
  readonly errorId: string
  readonly errors: ReadonlyArray<unknown>
}

/** Problems for errors that no endpoint declares, by status. */
export const undeclaredProblems: Record<number, readonly [code: string, title: string, detail: string]> = {
  400: ["Request.MalformedBody", "The request cannot be read", "The request is malformed."],
  404: ["Request.RouteNotFound", "Unknown path", "No operation has this path. See /docs for the list of operations."],
  405: [
    "Request.MethodNotAllowed",
    "Wrong method",
    "This path does not support this method. The `Allow` header lists the supported methods.",
  ],
  413: ["Request.BodyTooLarge", "The body is too large", "The body must not be larger than 1 MiB."],
  415: ["Request.UnsupportedMediaType", "Unsupported media type", "Send `content-type: application/json`."],
  500: [
    "Service.InternalError",
    "Internal error",
    "The service failed to process the request. Include the errorId when you report this problem.",
  ],
  503: ["Service.Unavailable", "Temporarily unavailable", "The service cannot reach its database. Try again shortly."],
}

/** Creates the problem for an error response without one. */
export const problemFor = (status: number): Omit<ProblemDocument, "instance"> => {
  const knownStatus = undeclaredProblems[status] === undefined ? (status < 500 ? 400 : 500) : status
  const [code, title, detail] = undeclaredProblems[knownStatus] as readonly [string, string, string]
  return {
    type: `urn:keyshelf:problem:${code}`,
    title,
    status,
    code,
    detail,
    errorId: globalThis.crypto.randomUUID(),
    errors: [],
  }
}
