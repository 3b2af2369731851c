/** Authentication of the two listeners, and the scope gate in front of every handler. */
import { Context, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerRespondable } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { prefixes } from "../access/Model.ts"
import { Credentials } from "../access/Service.ts"
import { Caller, Operator, RequestOwner } from "../kernel/Caller.ts"
import { annotationOf, OrganizationAccess, PlatformAccess, RequiredScope } from "../kernel/Endpoint.ts"
import { MissingScope, WrongCredentialKind } from "../kernel/Problem.ts"
import { allows } from "../kernel/Scope.ts"

// An endpoint without a declared scope refuses everyone.
const requireScope = (
  endpoint: HttpApiEndpoint.Top,
  held: ReadonlyArray<string>,
): Effect.Effect<void, MissingScope> => {
  const needed = annotationOf(endpoint, RequiredScope)
  if (needed === "any-credential" || (needed !== undefined && allows(held, needed))) return Effect.void
  return Effect.fail(new MissingScope({ detail: `This operation needs the scope ${needed ?? "that nobody holds"}.` }))
}

/** Core: a live `ksh_` token, inside its organization. */
export const organizationAccess = Layer.effect(
  OrganizationAccess,
  Effect.gen(function* () {
    const credentials = yield* Credentials
    return OrganizationAccess.of({
      organizationToken: Effect.fnUntraced(function* (
        handler,
        { credential, endpoint }: { readonly credential: Redacted.Redacted; readonly endpoint: HttpApiEndpoint.Top },
      ) {
        const row = yield* credentials.authenticate("organization", credential)
        // The table's constraint says so too: an organization credential names its organization.
        if (row.organizationId === null)
          return yield* Effect.die(new Error(`Credential ${row.id} names no organization`))
        yield* requireScope(endpoint, row.scopes)
        const context = Context.make(Caller, {
          credentialId: row.id,
          organizationId: row.organizationId,
          actor: row.actor,
          scopes: row.scopes,
        }).pipe(Context.add(RequestOwner, { organizationId: row.organizationId, credentialId: row.id }))
        return yield* Effect.provideContext(handler, context)
      }),
    })
  }),
)

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
        yield* requireScope(endpoint, row.scopes)
        const context = Context.make(Operator, {
          credentialId: row.id,
          actor: row.actor,
          scopes: row.scopes,
        }).pipe(Context.add(RequestOwner, { organizationId: null, credentialId: row.id }))
        return yield* Effect.provideContext(handler, context)
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
