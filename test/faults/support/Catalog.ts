/** Instances with a hard limit. */
import { Effect } from "effect"
import { call } from "./Installation.ts"
import type { AnyNode, Tenant } from "./Installation.ts"

/** Instances whose license grants `cap` of an entitlement, for their whole life. */
interface Catalog {
  readonly entitlement: string
  readonly cap: number
  readonly instances: ReadonlyArray<string>
}

/** Creates instances with their license, entitlement and customer. */
export const createCatalog = Effect.fnUntraced(function* (
  node: AnyNode,
  { token }: Tenant,
  { cap, entitlement, instances }: Catalog,
) {
  const create = (path: string, body: object) => call("POST", `${node.core}/api${path}`, token, body)
  yield* create("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
  yield* create("/entitlements", { name: entitlement, slug: entitlement, type: "NUMBER", aggregationMethod: "SUM" })
  yield* create("/licenses/pro/entitlements", { entitlementSlug: entitlement, value: cap })
  yield* create("/customers", { name: "Acme", slug: "acme" })
  const dates = { startLicenseDate: "2025-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
  yield* Effect.forEach(
    instances,
    (slug) => create("/instances", { name: slug, slug, customerSlug: "acme", licenseSlug: "pro", ...dates }),
    { concurrency: 4, discard: true },
  )
})
