/** Who may call an edge: callers with a credential of its file. All others get the 401 of the service, and the origin is not asked. */
import { Effect, Layer, Redacted } from "effect"
import { HttpServerRequest, HttpServerRespondable } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { recordCaller } from "../../http/middleware/RequestLog.ts"
import { Caller, RequestOwner } from "../../kernel/contract/Caller.ts"
import { Idempotency, OrganizationAccess, RateLimits } from "../../kernel/contract/Endpoint.ts"
import { invalidCredential } from "../../kernel/contract/Problem.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { Credential } from "../credentials/Credential.ts"
import { Edge } from "../Edge.ts"

/** Until the origin has said whom a credential belongs to. */
const UNKNOWN_ORGANIZATION = OrganizationId.make("00000000-0000-7000-8000-000000000000")

const actor = { id: UNKNOWN_ORGANIZATION, name: "edge" }

/** The credential of a token, unless the origin has denied it. */
const usable = (credentials: Edge["Service"]["credentials"], token: Redacted.Redacted) => {
  const credential = credentials.find(Redacted.value(token))
  return credential === undefined || credential.state.isDenied
    ? Effect.fail(invalidCredential())
    : Effect.succeed(credential)
}

/** The caller of a credential. What it may do is for the origin to say. */
const callerOf = ({ id, state }: Credential): Caller["Service"] => {
  const { instance, organizationId = UNKNOWN_ORGANIZATION } = state.identity ?? {}
  const caller = { credentialId: id, credential: null, organizationId, actor, scopes: [] }
  return instance === undefined ? caller : { ...caller, confinedTo: instance }
}

/** Authenticates the operations that the edge answers itself. */
const organizationAccess = Layer.effect(
  OrganizationAccess,
  Effect.map(Edge, ({ credentials }) =>
    OrganizationAccess.of({
      organizationToken: Effect.fnUntraced(function* (handler, { credential: token }) {
        const credential = yield* usable(credentials, token)
        const caller = callerOf(credential)
        yield* recordCaller(caller)
        return yield* handler.pipe(Effect.provideService(Caller, caller), Effect.provideService(RequestOwner, caller))
      }),
    }),
  ),
)

/** A credential has its rate limit at the origin. */
const rateLimits = Layer.succeed(RateLimits, (handler) => handler)

/** What the edge answers itself changes nothing: a repetition needs no stored response. */
const idempotency = Layer.succeed(Idempotency, (handler) => handler)

export const middlewares = Layer.mergeAll(organizationAccess, rateLimits, idempotency)

const bearerOf = HttpApiBuilder.securityDecode(HttpApiSecurity.bearer).pipe(
  Effect.provideService(HttpServerRequest.ParsedSearchParams, {}),
)

/** Runs what is for callers with a credential of the file; others get 401. */
export const requireCredential = <R>(
  credentials: Edge["Service"]["credentials"],
  effect: Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>,
) =>
  Effect.flatMap(bearerOf, (token) => usable(credentials, token)).pipe(
    Effect.andThen(effect),
    Effect.catchTag("Auth.InvalidCredential", HttpServerRespondable.toResponse),
  )
