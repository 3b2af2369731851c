/**
 * The service's three APIs, made from groups. Handlers are built against the API of their one group, so that a domain
 * never imports the whole API; the router registers both under the same identifier.
 */
import { Context } from "effect"
import type { NonEmptyReadonlyArray } from "effect/Array"
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { OrganizationAccess, PlatformAccess, PublicAccess, RateLimits, RequestValidation } from "./Endpoint.ts"

/**
 * Bodies reject unknown properties, and so do queries (`RequestValidation`); headers ignore unknown names. The decoder stops at the first error, so that a
 * body of many errors costs no more than one of few. The middleware then collects up to a hundred.
 */
export const strictBodies = Context.make(HttpApi.PayloadParseOptions, {
  onExcessProperty: "error",
  errors: "first",
})

type Groups = NonEmptyReadonlyArray<HttpApiGroup.Constraint>

const organizationApi = <const Id extends string, const G extends Groups>(id: Id, groups: G) =>
  HttpApi.make(id)
    .add(...groups)
    .prefix("/api")
    .middleware(RequestValidation)
    .middleware(RateLimits)
    .middleware(OrganizationAccess)
    .annotateMerge(strictBodies)

/** The Core API of these groups: what organizations call. */
export const core = <const G extends Groups>(...groups: G) => organizationApi("core", groups)

/** The endpoints of the Core API that need no credential: they have no caller and no limit per credential. */
export const open = <const G extends Groups>(...groups: G) =>
  HttpApi.make("core")
    .add(...groups)
    .prefix("/api")
    .middleware(RequestValidation)
    .middleware(PublicAccess)
    .annotateMerge(strictBodies)

/** The webhook API of these groups: an API of its own, so that it can move to a listener of its own. */
export const webhooks = <const G extends Groups>(...groups: G) => organizationApi("webhooks", groups)

/** The Platform API of these groups: what the operator calls. */
export const platform = <const G extends Groups>(...groups: G) =>
  HttpApi.make("platform")
    .add(...groups)
    .prefix("/api")
    .middleware(RequestValidation)
    .middleware(RateLimits)
    .middleware(PlatformAccess)
    .annotateMerge(strictBodies)
