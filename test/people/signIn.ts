/** The service with a test issuer as its identity provider, and people who sign in there. */
import { Context, Effect, Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import { AuthMode } from "../../src/domains/access/tokens/GatewayTokens.ts"
import { IdentityProvider } from "../../src/kernel/ports/IdentityProvider.ts"
import type { Provider } from "../../src/kernel/ports/IdentityProvider.ts"
import * as Issuer from "../support/Issuer.ts"
import type { CallOptions } from "../support/TestService.ts"
import { TestService } from "../support/TestService.ts"

/** The issuer that the running service trusts. */
class TestIssuer extends Context.Service<TestIssuer, Issuer.Issuer>()("keyshelf/test/TestIssuer") {}

/** The service with a test issuer, in the given authentication mode. */
export const serviceWithIssuer = (settings?: Partial<Provider>, mode: "direct" | "gateway" = "direct") =>
  TestService.separate.pipe(
    Layer.provideMerge(
      Layer.effectContext(
        Effect.map(Issuer.start, (issuer) =>
          Context.make(TestIssuer, issuer).pipe(
            Context.add(IdentityProvider, Option.some(issuer.provider(settings))),
            Context.add(AuthMode, mode),
          ),
        ),
      ),
    ),
  )

/** A new organization, and functions that call the API as the operator and as people. */
export const office = Effect.gen(function* () {
  const { core, operator, platform, tenant } = yield* TestService
  const issuer = yield* TestIssuer
  const { organizationId, token } = yield* tenant()
  const memberships = `/platform/organizations/${organizationId}/memberships`
  const operate = (method: string, path: string, body?: object) =>
    platform(method, path, { token: operator, ...(body === undefined ? {} : { body }) })

  /** Creates a person and, if a role is given, a membership. */
  const person = Effect.fnUntraced(function* (role?: string, name = "Anna") {
    const subject = `${name}-${randomUUID()}`
    const { body } = yield* operate("POST", "/platform/users", { name, issuer: issuer.url, subject })
    if (role !== undefined) yield* operate("POST", memberships, { userId: body.id, role })
    return { id: String(body.id), subject }
  })

  /** Issues a token of the person for this organization. */
  const tokenOf = (subject: string, claims: object = {}) =>
    issuer.token({ claims: { sub: subject, org_id: organizationId, ...claims } })

  /** Calls the Core API as the person. */
  const as =
    (subject: string, claims: object = {}) =>
    (method: string, path: string, options: CallOptions = {}) =>
      Effect.flatMap(tokenOf(subject, claims), (token) => core(method, path, { token, ...options }))

  const events = Effect.map(core("GET", "/events?limit=200", { token }), ({ body }) => body.items)
  return { organizationId, token, memberships, operate, person, tokenOf, as, events, issuer, core }
})
