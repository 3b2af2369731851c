/** Authenticates requests on the core and platform listeners, and checks scopes before every handler. */
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpServerRequest, HttpServerRespondable } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import type { StoredCredential } from "../../domains/access/Model.ts"
import { AuthMode, GatewayTokens } from "../../domains/access/tokens/GatewayTokens.ts"
import { IdentityTokens } from "../../domains/access/tokens/IdentityTokens.ts"
import { Credentials } from "../../domains/access/tokens/Credentials.ts"
import { Caller, Operator, RequestOwner } from "../../kernel/contract/Caller.ts"
import type { CredentialReference, Role } from "../../kernel/contract/Caller.ts"
import {
  AdminsOnly,
  annotationOf,
  AnyOfScopes,
  oncePerEndpoint,
  OpenToLicenseKeys,
  OrganizationAccess,
  PlatformAccess,
  Public,
  PublicAccess,
  RequiredScope,
} from "../../kernel/contract/Endpoint.ts"
import { AdminOnly, MissingScope, noSuch } from "../../kernel/contract/Problem.ts"
import { allows } from "../../kernel/contract/Scope.ts"
import { InstanceNotFound } from "../../domains/instances/Errors.ts"
import { SignIn } from "../../domains/people/SignIn.ts"
import { recordCaller } from "./RequestLog.ts"

// An endpoint without a declared scope rejects every caller.
const requireScope = (
  endpoint: HttpApiEndpoint.Top,
  held: ReadonlyArray<string>,
): Effect.Effect<void, MissingScope> => {
  const needed = annotationOf(endpoint, RequiredScope)
  const anyOf = annotationOf(endpoint, AnyOfScopes)
  if (anyOf !== undefined && !anyOf.some((scope) => allows(held, scope))) {
    return Effect.fail(
      new MissingScope({
        detail: `This operation requires one of the scopes ${anyOf.join(", ")}. Use a credential with one.`,
      }),
    )
  }
  if (needed === "any-credential" || (needed !== undefined && allows(held, needed))) return Effect.void
  return Effect.fail(
    new MissingScope({
      detail:
        needed === undefined
          ? "This operation declares no scope, so no credential may call it."
          : `This operation requires the scope ${needed}. Use a credential with this scope.`,
    }),
  )
}

const requireOpenToLicenseKeys = (endpoint: HttpApiEndpoint.Top): Effect.Effect<void, MissingScope> =>
  annotationOf(endpoint, OpenToLicenseKeys) === undefined
    ? Effect.fail(
        new MissingScope({
          detail: "A license key may not call this operation. Use a token of a service account.",
        }),
      )
    : Effect.void

const positionOfInstance = oncePerEndpoint((endpoint) =>
  annotationOf(endpoint, OpenToLicenseKeys) === "by-path" ? endpoint.path.split("/").indexOf(":instanceSlug") : -1,
)

/**
 * The instance that the path of a request names. As it was sent: a slug needs no encoding, so an encoded one does not
 * match.
 */
const instanceInPath = (endpoint: HttpApiEndpoint.Top) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
    const position = positionOfInstance(endpoint)
    return position === -1 ? undefined : (url.replace(/[?#].*$/, "").split("/")[position] ?? "")
  })

// Only chooses a verifier by the text's shape; that verifier still checks the credential.
const looksLikeJwt = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)

const referenceTo = ({ id, name, slug }: StoredCredential): CredentialReference => ({ id, name, slug })

const organizationCallers = Effect.gen(function* () {
  const credentials = yield* Credentials
  const identityTokens = yield* IdentityTokens
  const gatewayTokens = yield* GatewayTokens
  const mode = yield* AuthMode
  const people = yield* SignIn

  // In gateway mode a stored token is accepted only in the form of the internal JWT that the gateway exchanged it for.
  const rowOf = (credential: Redacted.Redacted) =>
    mode === "gateway" || gatewayTokens.hasPrefix(credential)
      ? gatewayTokens.verify(credential)
      : credentials.authenticate("organization", credential)

  /** Authenticates a stored token. Invalid credentials of every kind end here too, so that they fail identically. */
  const byToken = Effect.fnUntraced(function* (credential: Redacted.Redacted) {
    const row = yield* rowOf(credential)
    // Cannot happen: a table constraint requires the organization of an organization credential.
    if (row.organizationId === null) return yield* Effect.die(new Error(`Credential ${row.id} has no organization`))
    const { actor, id, instanceId, instanceSlug, organizationId, scopes } = row
    const caller = { credentialId: id, credential: referenceTo(row), organizationId, actor, scopes }
    return instanceId === null || instanceSlug === null
      ? Caller.of(caller)
      : Caller.of({ ...caller, confinedTo: { id: instanceId, slug: instanceSlug } })
  })

  /** Authenticates a JWT of the identity provider, for a person with a membership. */
  const byIdentity = Effect.fnUntraced(function* (credential: Redacted.Redacted) {
    const verified = yield* Effect.option(identityTokens.verify(credential))
    if (Option.isNone(verified)) return yield* byToken(credential)
    const { claims, provider } = verified.value
    const { expiresAt, membershipId, organizationId, role, scopes, user } = yield* people.admit(provider, claims)
    const caller = { credentialId: membershipId, credential: null, organizationId, actor: user, scopes }
    return Caller.of({ ...caller, role, expiresAt })
  })

  return (credential: Redacted.Redacted) =>
    looksLikeJwt(Redacted.value(credential)) && !gatewayTokens.hasPrefix(credential)
      ? byIdentity(credential)
      : byToken(credential)
})

const isForAdmins = (endpoint: HttpApiEndpoint.Top, role: Role | undefined): boolean =>
  role !== undefined && role !== "ADMIN" && annotationOf(endpoint, AdminsOnly) === true

/**
 * Core: accepts a valid `ksh_` token, the internal JWT exchanged for it, or a person with a membership, always in one
 * organization.
 */
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
        yield* recordCaller(caller)
        // Checked before the scope, which non-admins lack anyway, because the role is the better explanation. It is a
        // response and not a failure, because only endpoints with this policy declare the error.
        if (isForAdmins(endpoint, caller.role)) {
          const detail = `This operation needs the role ADMIN; yours is ${caller.role}.`
          return yield* HttpServerRespondable.toResponse(new AdminOnly({ detail }))
        }
        if (caller.confinedTo !== undefined) yield* requireOpenToLicenseKeys(endpoint)
        yield* requireScope(endpoint, caller.scopes)
        if (caller.confinedTo !== undefined) {
          const named = yield* instanceInPath(endpoint)
          // Every endpoint whose path names an instance declares this error.
          if (named !== undefined && named !== caller.confinedTo.slug) {
            return yield* HttpServerRespondable.toResponse(new InstanceNotFound({ detail: noSuch("instance", named) }))
          }
        }
        const { credentialId, organizationId } = caller
        // Provided separately: adding a service to a context is cheap, but merging two contexts copies all services.
        return yield* handler.pipe(
          Effect.provideService(Caller, caller),
          Effect.provideService(RequestOwner, { organizationId, credentialId }),
        )
      }),
    })
  }),
).pipe(Layer.provide(IdentityTokens.layer))

const noCredential = { organizationId: null, credentialId: "public" }

/** Core: endpoints without a credential. One that is not marked as such is never reached. */
export const publicAccess = Layer.succeed(
  PublicAccess,
  PublicAccess.of((handler, { endpoint }) =>
    annotationOf(endpoint, Public) === true
      ? Effect.provideService(handler, RequestOwner, noCredential)
      : Effect.die(new Error(`${endpoint.path} is not marked as public`)),
  ),
)

/** Platform: accepts a valid `ksm_` credential, which belongs to no organization. */
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
        yield* recordCaller({ credentialId: row.id })
        yield* requireScope(endpoint, row.scopes)
        return yield* handler.pipe(
          Effect.provideService(Operator, {
            credentialId: row.id,
            credential: referenceTo(row),
            actor: row.actor,
            scopes: row.scopes,
          }),
          Effect.provideService(RequestOwner, { organizationId: null, credentialId: row.id }),
        )
      }),
    })
  }),
)
