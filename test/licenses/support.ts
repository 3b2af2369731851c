/** Helpers for tests of licenses. */
import { Effect } from "effect"
import type { HttpResponse } from "../support/TestService.ts"
import { TestService } from "../support/TestService.ts"

/** A new organization, with calls that send its token. */
export const vendor = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const { organizationId, token } = yield* tenant()
  const call = (method: string, path: string, body?: unknown) => core(method, path, { token, body })
  return {
    organizationId,
    token,
    call,
    /** Creates a license version; by default `Gold`, paid and published. */
    license: (body: object = {}) => call("POST", "/licenses", { name: "Gold", type: "PAID", ...body }),
    entitlement: (type: string, slug: string, body: object = {}) =>
      call("POST", "/entitlements", { name: slug, slug, type, ...body }),
    /** Creates an instance of the license for a new customer. */
    instance: Effect.fnUntraced(function* (licenseSlug: string) {
      const customer = yield* call("POST", "/customers", { name: "Customer" })
      return yield* call("POST", "/instances", {
        name: "Instance",
        customerSlug: customer.body.slug,
        licenseSlug,
        startLicenseDate: "2026-01-01T00:00:00Z",
        endLicenseDate: "2099-01-01T00:00:00Z",
      })
    }),
    /** The events after the issue of the organization's token, oldest first. */
    events: Effect.map(call("GET", "/events?limit=200"), (page) =>
      (page.body.items as ReadonlyArray<{ type: string; data: Record<string, unknown> }>).slice(1),
    ),
  }
})

export const rejectionOf = (response: HttpResponse) => [response.status, response.body.code]

export const locations = (response: HttpResponse): ReadonlyArray<string> =>
  response.body.errors.map((error: { location: string }) => error.location)

export const slugs = (page: HttpResponse): ReadonlyArray<string> =>
  page.body.items.map((item: { slug: string }) => item.slug)
