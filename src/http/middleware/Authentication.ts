/** Authentication of the two listeners, and the scope gate in front of every handler. */
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerRespondable } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { AuthMode, GatewayTokens } from "../../domains/access/tokens/GatewayTokens.ts"
import { IdentityTokens } from "../../domains/access/tokens/IdentityTokens.ts"
import { prefixes } from "../../domains/access/Model.ts"
import { Credentials } from "../../domains/access/tokens/Credentials.ts"
import { Caller, Operator, RequestOwner } from "../../kernel/contract/Caller.ts"
import type { Role } from "../../kernel/contract/Caller.ts"
import {
  AdminsOnly,
  annotationOf,
  OrganizationAccess,
  PlatformAccess,
  RequiredScope,
} from "../../kernel/contract/Endpoint.ts"
import { AdminOnly, MissingScope, WrongCredentialKind } from "../../kernel/contract/Problem.ts"
import { allows } from "../../kernel/contract/Scope.ts"
import { SignIn } from "../../domains/people/SignIn.ts"
import { noteCaller } from "./RequestLog.ts"

// An endpoint without a declared scope refuses everyone.
const requireScope = (
  endpoint: HttpApiEndpoint.Top,
  held: ReadonlyArray<string>,
): Effect.Effect<void, MissingScope> => {
  const needed = annotationOf(endpoint, RequiredScope)
  if (needed === "any-credential" || (needed !== undefined && allows(held, needed))) return Effect.void
  return Effect.fail(new MissingScope({ detail: `This operation needs the scope ${needed ?? "that nobody holds"}.` }))
}

// Not what a bearer text is, only what it looks like: whatever it is taken for has to verify it.
const looksLikeJwt = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)

const organizationCallers = Effect.gen(function* () {
  const credentials = yield* Credentials
  const identityTokens = yield* IdentityTokens
  const gatewayTokens = yield* GatewayTokens
  const mode = yield* AuthMode
  const people = yield* SignIn

  // Behind a gateway a token is taken only as the gateway exchanged it.
  const rowOf = (credential: Redacted.Redacted) =>
    mode === "gateway" || gatewayTokens.recognizes(credential)
      ? gatewayTokens.verify(credential)
      : credentials.authenticate("organization", credential)

  /** A stored token. Whatever is no good credential ends here too, so that every failure takes this road. */
  const byToken = Effect.fnUntraced(function* (credential: Redacted.Redacted) {
    const row = yield* rowOf(credential)
    // The table's constraint says so too: an organization credential names its organization.
    if (row.organizationId === null) return yield* Effect.die(new Error(`Credential ${row.id} names no organization`))
    const { actor, id, organizationId, scopes } = row
    return Caller.of({ credentialId: id, organizationId, actor, scopes })
  })

  /** A JWT of the identity provider, for a person with a membership. */
  const byIdentity = Effect.fnUntraced(function* (credential: Redacted.Redacted) {
    const verified = yield* Effect.option(identityTokens.verify(credential))
    if (Option.isNone(verified)) return yield* byToken(credential)
    const { claims, provider } = verified.value
    const { membershipId, organizationId, role, scopes, user } = yield* people.admit(provider, claims)
    return Caller.of({ credentialId: membershipId, organizationId, actor: user, scopes, role })
  })

  return (credential: Redacted.Redacted) =>
    looksLikeJwt(Redacted.value(credential)) && !gatewayTokens.recognizes(credential)
      ? byIdentity(credential)
      : byToken(credential)
})

const isForAdmins = (endpoint: HttpApiEndpoint.Top, role: Role | undefined): boolean =>
  role !== undefined && role !== "ADMIN" && annotationOf(endpoint, AdminsOnly) === true

/** Core: a live `ksh_` token (or what a gateway exchanged it for), or a person with a membership; always inside one organization. */
export const organizationAccess = Layer.effect(
  OrganizationAccess,
  Effect.gen(function* () {
    const callerOf = yield* organizationCallers
    return OrganizationAccess.of({
      organizationToken: Effect.fnUntraced(function* (
        handler,
        { credential, endpoint }: { readonly credential: Redacted.Redacted; readonly endpoint: HttpApiEndpoint.Top },
      ) {
        const caller = yield* callerOf(credential)
        yield* noteCaller(caller)
        // Before the scope, which people who are no admins lack anyway: the role says why. It is an answer, not a
        // failure, because only the endpoints with this policy declare it.
        if (isForAdmins(endpoint, caller.role)) {
          const detail = `This operation needs the role ADMIN; yours is ${caller.role}.`
          return yield* HttpServerRespondable.toResponse(new AdminOnly({ detail }))
        }
        yield* requireScope(endpoint, caller.scopes)
        const { credentialId, organizationId } = caller
        // One by one: adding a service to a context is cheap, merging two copies all services of the process.
        return yield* handler.pipe(
          Effect.provideService(Caller, caller),
          Effect.provideService(RequestOwner, { organizationId, credentialId }),
        )
      }),
    })
  }),
).pipe(Layer.provide(IdentityTokens.layer))

/** Platform: a live `ksm_` credential, outside every organization. */
export const platformAccess = Layer.effect(
  PlatformAccess,
  Effect.gen(function* () {
    const credentials = yield* Credentials
    return PlatformAccess.of({
      platformCredential: Effect.fnUntraced(function* (
        handler,
        { credential, endpoint }: { readonly credential: Redacted.Redacted; readonly endpoint: HttpApiEndpoint.Top },
      ) {
        const row = yield* credentials.authenticate("platform", credential)
        yield* noteCaller({ credentialId: row.id })
        yield* requireScope(endpoint, row.scopes)
        return yield* handler.pipe(
          Effect.provideService(Operator, { credentialId: row.id, actor: row.actor, scopes: row.scopes }),
          Effect.provideService(RequestOwner, { organizationId: null, credentialId: row.id }),
        )
      }),
    })
  }),
)

const isPlatformCredential = (authorization: string): boolean =>
  new RegExp(`^bearer +${prefixes.platform}`, "i").test(authorization)

/** On the Platform listener any other credential gets one answer before routing, whatever the path (section 5.5). */
export const platformCredentialsOnly = HttpRouter.middleware(
  (effect) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const authorization = request.headers["authorization"]
      if (authorization === undefined || authorization === "" || isPlatformCredential(authorization)) return effect
      const problem = new WrongCredentialKind({
        detail:
          "The Platform API takes platform credentials (ksm_...) only. Tokens of organizations belong to the Core API.",
      })
      return HttpServerRespondable.toResponse(problem)
    }),
  { global: true },
)
