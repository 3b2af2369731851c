/** What every endpoint declares: its scope, its answer to creation, its idempotency key. */
import { Context, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity } from "effect/http-api"
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
 * The scope an endpoint needs, or `any-credential`. An endpoint without this annotation refuses everyone: forgetting
 * it closes a door, never opens one.
 */
export class RequiredScope extends Context.Service<RequiredScope, Scope | "any-credential">()(
  "keyshelf/kernel/RequiredScope",
) {}

/** Marks an endpoint that, of people, only those with the role `ADMIN` may call; machines need its scope alone. */
export class AdminsOnly extends Context.Service<AdminsOnly, true>()("keyshelf/kernel/AdminsOnly") {}

/** Marks an endpoint whose answer carries a secret: the answer is never kept for replay (contract, section 2). */
export class AnswersSecret extends Context.Service<AnswersSecret, true>()("keyshelf/kernel/AnswersSecret") {}

/** Marks an endpoint whose body carries secrets: no part of the body is echoed in a refusal. */
export class TakesSecret extends Context.Service<TakesSecret, true>()("keyshelf/kernel/TakesSecret") {}

/**
 * Marks an endpoint that changes nothing and waits for another system. Its answer is not kept for replay: keeping it would
 * hold a transaction, and so a connection, for as long as that system takes.
 */
export class WaitsForOthers extends Context.Service<WaitsForOthers, true>()("keyshelf/kernel/WaitsForOthers") {}

/** What an endpoint is annotated with under a key, if anything. */
export const annotationOf = <I, A>(
  endpoint: { readonly annotations: Context.Context<never> },
  key: Context.Key<I, A>,
): A | undefined => Context.getOrUndefined(endpoint.annotations as Context.Context<I>, key)

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

/** Counts the request against the budget of its credential, where limits are on (contract, section 3, 429). */
export class RateLimits extends HttpApiMiddleware.Service<RateLimits, { requires: RequestOwner }>()(
  "keyshelf/kernel/RateLimits",
  { error: RateLimited },
) {}

/** Turns a request that does not decode into a problem that names each fault's place. */
export class RequestValidation extends HttpApiMiddleware.Service<RequestValidation>()(
  "keyshelf/kernel/RequestValidation",
  { error: [MalformedBody, ValidationFailed] },
) {}

/** Replays the stored answer of a POST that is sent again under the same `Idempotency-Key`. */
export class Idempotency extends HttpApiMiddleware.Service<Idempotency, { requires: RequestOwner }>()(
  "keyshelf/kernel/Idempotency",
  { error: [IdempotencyKeyInFlight, IdempotencyKeyReused, SecretNotReplayable] },
) {}

/** Headers of every POST. */
export const idempotencyHeaders = {
  "idempotency-key": Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { expected: "1 to 255 visible ASCII characters" })),
  ).annotate({ description: "Makes the request safe to send again for 24 hours" }),
}

/** The answer 201 with a `Location`. */
export const Created = <S extends Schema.Top>(body: S) =>
  HttpApiSchema.WithHeaders(body.pipe(HttpApiSchema.status(201)), { location: Schema.String })

/** The value of a {@link Created} answer. */
export const created = <A>(location: string, body: A) => HttpApiSchema.withHeaders({ body, headers: { location } })

/** The header by which {@link asPublished} marks an answer; it never leaves the process. */
export const PUBLISHED_BODY = "x-keyshelf-published-body"

/**
 * Marks a refusal whose body another specification publishes: it is sent as it is, although it is no problem document.
 * Nothing else may be sent so (contract, section 9, "Flags").
 */
export const asPublished = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeader(response, PUBLISHED_BODY, "true")
