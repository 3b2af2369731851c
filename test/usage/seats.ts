/** A shop that sells seats. */
import { Effect } from "effect"
import { openMeteredShop } from "./MeteredShop.ts"

/** Opens a shop with so many seats in the instance `prod`. */
export const openSeats = Effect.fnUntraced(function* (limit: number, overagePercent = 0) {
  const shop = yield* openMeteredShop
  yield* shop.metered("editors", limit, { aggregationMethod: "CONCURRENT" }, overagePercent)
  const path = "/instances/prod/entitlements/editors/leases"
  const acquire = (holder: string, more: object = {}) => shop.call("POST", path, { holder, ...more })
  const ask = (more: object = {}) =>
    Effect.map(
      shop.call("POST", "/instances/prod/check", { checks: [{ entitlement: "editors" }], ...more }),
      ({ body }) => body.checks[0],
    )
  return { ...shop, path, acquire, ask }
})
