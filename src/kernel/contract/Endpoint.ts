/** Annotations, middleware and response types that endpoints declare. */
import { Context, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import type { Caller, Operator, RequestOwner } from "./Caller.ts"
import {
  IdempotencyKeyInFlight,
  IdempotencyKeyReused,
  InvalidCredential,
  MalformedBody,
  MissingScope,
  NotAMember,
  RateLimited,
  SecretNotReplayable,
  ValidationFailed,
  WrongCredentialKind,
} from "./Problem.ts"
import type { Scope } from "./Scope.ts"

/**
 * The scope that an endpoint requires, or `any-credential`. An endpoint without this annotation rejects every request,
 * so that a forgotten annotation is safe.
 */
export class RequiredScope extends Context.Service<RequiredScope, Scope | "any-credential">()(
  "keyshelf/kernel/RequiredScope",
) {}

/**
 * Marks an endpoint that needs no credential. Its group has {@link PublicAccess} instead of the middleware for authentication
 * (`Apis.open`).
 */
export class Public extends Context.Service<Public, true>()("keyshelf/kernel/Public") {}

/**
 * Marks an endpoint that a license key may call: only for its own instance, which the path names, or which the service
 * looks up (`by-service`). All others reject license keys.
 */
export class OpenToLicenseKeys extends Context.Service<OpenToLicenseKeys, "by-path" | "by-service">()(
  "keyshelf/kernel/OpenToLicenseKeys",
) {}

/** Alternative scopes: a caller needs at least one of them. The body decides which one, and the service checks it. */
export class AnyOfScopes extends Context.Service<AnyOfScopes, ReadonlyArray<Scope>>()("keyshelf/kernel/AnyOfScopes") {}

/** Marks an endpoint that people may call only with the role `ADMIN`. Machines need only its scope. */
export class AdminsOnly extends Context.Service<AdminsOnly, true>()("keyshelf/kernel/AdminsOnly") {}

/** Marks an endpoint whose response contains a secret. The response is never stored for replay. */
export class ReturnsSecret extends Context.Service<ReturnsSecret, true>()("keyshelf/kernel/ReturnsSecret") {}

/** Marks an endpoint whose body contains secrets. Errors never echo any part of the body. */
export class AcceptsSecret extends Context.Service<AcceptsSecret, true>()("keyshelf/kernel/AcceptsSecret") {}

/**
 * Marks an endpoint that changes nothing and waits for a third-party system. Its response is not stored for replay:
 * storing it would keep a transaction, and thus a connection, open during the call.
 */
export class CallsThirdParty extends Context.Service<CallsThirdParty, true>()("keyshelf/kernel/CallsThirdParty") {}

/**
 * Marks an endpoint that works in several transactions and can be repeated safely. Its response is stored after them: storing it
 * with them would make one transaction of all.
 */
export class RunsInPieces extends Context.Service<RunsInPieces, true>()("keyshelf/kernel/RunsInPieces") {}

/**
 * Marks an endpoint that reads as many records as the organization has. Endpoints with pages need no mark. The work of
 * both takes turns with that of other organizations.
 */
export class ReadsMany extends Context.Service<ReadsMany, true>()("keyshelf/kernel/ReadsMany") {}

/** Reads an annotation of an endpoint, or `undefined` if it has none. */
export const annotationOf = <I, A>(
  endpoint: { readonly annotations: Context.Context<never> },
  key: Context.Key<I, A>,
): A | undefined => Context.getOrUndefined(endpoint.annotations as Context.Context<I>, key)

/** A function of an endpoint that computes each result once. */
export const oncePerEndpoint = <A>(
  compute: (endpoint: HttpApiEndpoint.Top) => A,
): ((endpoint: HttpApiEndpoint.Top) => A) => {
  const results = new WeakMap<HttpApiEndpoint.Top, { readonly result: A }>()
  return (endpoint) => {
    const known = results.get(endpoint)
    if (known !== undefined) return known.result
    const result = compute(endpoint)
    results.set(endpoint, { result })
    return result
  }
}

const bearer = HttpApiSecurity.bearer

/** Authenticates a Core request and checks the scope of its endpoint. */
export class OrganizationAccess extends HttpApiMiddleware.Service<
  OrganizationAccess,
  { provides: Caller | RequestOwner }
>()("keyshelf/kernel/OrganizationAccess", {
  security: { organizationToken: bearer },
  error: [InvalidCredential, MissingScope, NotAMember],
}) {}

/** Authenticates a Platform request and checks the scope of its endpoint. */
export class PlatformAccess extends HttpApiMiddleware.Service<PlatformAccess, { provides: Operator | RequestOwner }>()(
  "keyshelf/kernel/PlatformAccess",
  {
    security: { platformCredential: bearer },
    error: [InvalidCredential, MissingScope, WrongCredentialKind],
  },
) {}

/**
 * Lets requests without a credential through. They belong to no organization, so all of them together take turns with those of
 * each organization. Only endpoints that are {@link Public} may be called.
 */
export class PublicAccess extends HttpApiMiddleware.Service<PublicAccess, { provides: RequestOwner }>()(
  "keyshelf/kernel/PublicAccess",
) {}

/**
 * Counts the request against the rate limit of its credential, if limits are enabled. Beyond the limit the response is
 * 429.
 */
export class RateLimits extends HttpApiMiddleware.Service<RateLimits, { requires: RequestOwner }>()(
  "keyshelf/kernel/RateLimits",
  { error: RateLimited },
) {}

/** Turns decoding errors of a request into a problem with the place of each error. */
export class RequestValidation extends HttpApiMiddleware.Service<RequestValidation, { requires: RequestOwner }>()(
  "keyshelf/kernel/RequestValidation",
  { error: [MalformedBody, ValidationFailed] },
) {}

/** Replays the stored response when a POST is repeated with the same `Idempotency-Key`. */
export class Idempotency extends HttpApiMiddleware.Service<Idempotency, { requires: RequestOwner }>()(
  "keyshelf/kernel/Idempotency",
  { error: [IdempotencyKeyInFlight, IdempotencyKeyReused, SecretNotReplayable] },
) {}

/**
 * Turns a CloudEvent in binary mode (`ce-*` headers) into one in structured mode, before anything else reads the body.
 * It must be added after {@link Idempotency}, so that a key is bound to the headers too.
 */
export class BinaryEvents extends HttpApiMiddleware.Service<BinaryEvents>()("keyshelf/kernel/BinaryEvents", {
  error: [MalformedBody, ValidationFailed],
}) {}

/** Headers of every POST. */
export const idempotencyHeaders = {
  "idempotency-key": Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { expected: "1 to 255 visible ASCII characters" })),
  ).annotate({ description: "A key that makes the request safe to retry for 24 hours" }),
}

/** The schema of a 201 response with a `Location` header. */
export const Created = <S extends Schema.Top>(body: S) =>
  HttpApiSchema.WithHeaders(body.pipe(HttpApiSchema.status(201)), { location: Schema.String })

/** The value of a {@link Created} response. */
export const created = <A>(location: string, body: A) => HttpApiSchema.withHeaders({ body, headers: { location } })

/** The internal header that {@link asForeignError} sets. It is removed before the response is sent. */
export const EXTERNAL_BODY = "x-keyshelf-published-body"

/**
 * Marks an error response whose body is defined by another specification. It is sent unchanged, although it is not a
 * problem document. Only OFREP's errors need this: clients of OFREP parse its own bodies.
 */
export const asForeignError = (
  response: HttpServerResponse.HttpServerResponse,
): HttpServerResponse.HttpServerResponse => HttpServerResponse.setHeader(response, EXTERNAL_BODY, "true")
