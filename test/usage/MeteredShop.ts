/** A shop with an instance whose license is running, and functions that report and read usage. */
import { Effect } from "effect"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { createShop } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

/** An instant this many days ago. */
export const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

export const openMeteredShop = Effect.gen(function* () {
  const shop = yield* createShop
  const { core } = yield* TestService
  yield* shop.license("pro")
  yield* shop.customer("Acme")
  const instance = yield* shop.instance("Prod", "acme", "pro", {
    startLicenseDate: daysAgo(300),
    endLicenseDate: "2099-01-01T00:00:00Z",
  })
  const { call, tenant } = shop

  /** Creates an entitlement that "pro" grants. */
  const metered = Effect.fnUntraced(function* (slug: string, limit: number, more: object = {}, overagePercent = 0) {
    const record = yield* shop.entitlement(slug, more)
    yield* shop.grant("pro", slug, limit, overagePercent)
    return record
  })
  const report = (slug: string, body: unknown, headers: Record<string, string> = {}) =>
    core("POST", `/instances/prod/entitlements/${slug}/usage`, { token: tenant.token, body, headers })

  return {
    ...shop,
    instance,
    instanceOf: shop.instance,
    metered,
    report,
    /** The result of a report: the value and the number of events, or the status and locations of its rejection. */
    reported: (slug: string, body: unknown) =>
      Effect.map(report(slug, body), (answer) =>
        answer.status === 200
          ? [answer.body.usageValue.value, answer.body.usageValue.event_count]
          : [answer.status, ...answer.body.errors.map(({ location }: { location: string }) => location)],
      ),
    used: (slug: string) =>
      Effect.map(call("GET", `/instances/prod/entitlements/${slug}/usage`), ({ body }) => body.usageValue.value),
    check: (checks: ReadonlyArray<object>, more: object = {}) =>
      call("POST", "/instances/prod/check", { checks, consume: true, ...more }),
    /** The threshold events of the organization, oldest first. */
    thresholds: Effect.map(call("GET", "/events?limit=200"), ({ body }) =>
      body.items
        .filter(({ type }: { type: string }) => type.startsWith("ENTITLEMENT_USAGE_"))
        .map(({ type }: { type: string }) =>
          type.replace("ENTITLEMENT_USAGE_", "").replace("_THRESHOLD_REACHED", "").replace("_REACHED", ""),
        ),
    ),
  }
})
