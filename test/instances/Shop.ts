/** An organization with helpers for licenses, grants and instances. Usage is stored by SQL. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

/** The default term of an instance: one year. */
export const term = { startLicenseDate: "2025-01-01T00:00:00.000Z", endLicenseDate: "2026-01-01T00:00:00.000Z" }

const bodyOf = (response: HttpResponse) =>
  response.status < 300 ? Effect.succeed(response.body) : Effect.die(new Error(`${response.status} ${response.text}`))

export const createShop = Effect.gen(function* () {
  const service = yield* TestService
  const sql = yield* PgClient.PgClient
  const tenant = yield* service.tenant()

  const call = (method: string, path: string, body?: unknown) =>
    service.core(method, path, { token: tenant.token, ...(body === undefined ? {} : { body }) })
  const make = (path: string, body?: unknown) => Effect.flatMap(call("POST", path, body), bodyOf)

  return {
    tenant,
    call,

    /** Creates a license; by default a published one in its own family. */
    license: (slug: string, more: object = {}) => make("/licenses", { name: slug, slug, type: "PAID", ...more }),

    archive: (licenseSlug: string) => make(`/licenses/${licenseSlug}/archive`),

    customer: (name: string) => make("/customers", { name }),

    zone: (name: string) => make("/deployment-zones", { name, type: "production" }),

    entitlement: (slug: string, more: object = {}) =>
      make("/entitlements", { name: slug, slug, type: "NUMBER", ...more }),

    grant: (licenseSlug: string, entitlementSlug: string, value: number | boolean | object, overagePercent = 0) =>
      make(`/licenses/${licenseSlug}/entitlements`, { entitlementSlug, value, overagePercent }),

    instance: (name: string, customerSlug: string, licenseSlug: string, more: object = {}) =>
      make("/instances", { name, customerSlug, licenseSlug, ...term, ...more }),

    /** Stores the usage of an entitlement in the period that starts at `periodStart`. */
    used: (instanceId: string, entitlementId: string, periodStart: string, value: string) =>
      sql`INSERT INTO usage_totals (organization_id, instance_id, entitlement_id, period_start, value, event_count)
        VALUES (${tenant.organizationId}, ${instanceId}, ${entitlementId}, ${new Date(periodStart)},
          ${value}::text::numeric, 1)`,
  }
})

/** The status, code and error locations of a rejected request. */
export const rejection = ({ status, body }: HttpResponse) => ({
  status,
  code: body.code,
  places: body.errors.map(({ location }: { location: string }) => location),
})
