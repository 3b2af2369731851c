/** An organization with instances and entitlements of all kinds, before which edges stand. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inDays } from "../offline-bundles/Site.ts"
import { createShop } from "../instances/Shop.ts"
import { databaseProxy } from "../support/cable.ts"
import { TestService } from "../support/TestService.ts"

// Periods begin with the license, half a day and more before a test, and none ends while it runs. The year is of the calendar.
const NUMBERS: ReadonlyArray<readonly [slug: string, more: object, value: number, overagePercent: number]> = [
  ["exports", { resetPeriod: "DAY", resetAnchor: "LICENSE_START" }, 100, 0],
  ["api-calls", { resetPeriod: "MONTH", resetAnchor: "LICENSE_START" }, 1000, 10],
  ["jobs", { aggregationMethod: "COUNT", resetPeriod: "DAY", resetAnchor: "LICENSE_START" }, 5, 0],
  ["reports", { resetPeriod: "YEAR", resetAnchor: "CALENDAR" }, 20, 0],
  ["messages", { resetPeriod: "MONTH", resetAnchor: "LICENSE_START" }, -1, 0],
  ["projects", { aggregationMethod: "LATEST" }, -1, 0],
  ["gigabytes", { resetPeriod: "MONTH", resetAnchor: "LICENSE_START" }, 0.3, 0],
  ["peak", { aggregationMethod: "MAX", resetPeriod: "WEEK", resetAnchor: "LICENSE_START" }, 20, 5],
  ["large", {}, 123_456_789_012_345, 0],
  ["seats", { aggregationMethod: "CONCURRENT" }, 2, 0],
]

const OTHERS: ReadonlyArray<readonly [slug: string, type: string, value: boolean | object]> = [
  ["sso", "BOOLEAN", true],
  ["support", "CONFIG", { level: "gold", hours: [9, 17] }],
]

/** All slugs of entitlements: of numbers, others, and those that are not granted or do not exist. */
export const SLUGS = [...NUMBERS.map(([slug]) => slug), ...OTHERS.map(([slug]) => slug), "audit", "nothing", "nowhere"]

/** Instances by their terms: `[start, end]` in days from now. */
const INSTANCES = { prod: [-100.5, 4000], grace: [-100.5, -1], ended: [-100.5, -50], coming: [10, 100] } as const
export const INSTANCE_SLUGS = Object.keys(INSTANCES)

/** The instance with the same terms and dates. What consumes from the one through an edge consumes from the other at the origin. */
export const twinOf = (slug: string): string => `${slug}-twin`

const variants = ["on", "eu", "prod"].map((name) => ({ name, value: `is ${name}` }))

const flags = [
  { key: "plain", type: "string", variants, defaultVariant: "on" },
  { key: "without-value", type: "string" },
  {
    key: "by-country",
    type: "string",
    variants,
    defaultVariant: "on",
    targetings: [
      {
        name: "eu",
        conditions: [{ attribute: "country", operator: "IN", values: ["de", "fr"] }],
        percentage: 50,
        variant: "eu",
      },
      {
        name: "prod",
        conditions: [{ attribute: "keyshelf.instance.slug", operator: "EQUALS", values: ["prod"] }],
        variant: "prod",
      },
    ],
  },
]

/** The shop, with its API behind a cable that can be cut. */
export const openWorld = Effect.gen(function* () {
  const shop = yield* createShop
  const service = yield* TestService
  const { call } = shop
  yield* shop.license("pro", { graceDays: 30 })
  yield* shop.customer("Globex")
  for (const [slug, more, value, overagePercent] of NUMBERS) {
    yield* shop.entitlement(slug, more)
    yield* shop.grant("pro", slug, value, overagePercent)
  }
  for (const [slug, type, value] of OTHERS) {
    yield* shop.entitlement(slug, { type })
    yield* shop.grant("pro", slug, value)
  }
  yield* shop.entitlement("audit", { type: "BOOLEAN" })
  yield* shop.entitlement("nothing")
  for (const [slug, [start, end]] of Object.entries(INSTANCES)) {
    const dates = { startLicenseDate: inDays(start), endLicenseDate: inDays(end) }
    for (const one of [slug, twinOf(slug)]) yield* shop.instance(one, "globex", "pro", { slug: one, ...dates })
  }
  for (const flag of flags) {
    const { status, text } = yield* call("POST", "/feature-flags", flag)
    assert.strictEqual(status, 201, text)
  }
  const cable = yield* databaseProxy(service.origins.core)
  return {
    ...shop,
    service,
    cable,
    /** The URL of the origin for edges. */
    origin: cable.url.replace(/\/$/, ""),
    use: (instance: string, entitlement: string, value: number) =>
      call("POST", `/instances/${instance}/entitlements/${entitlement}/usage`, { value }),
    licenseKey: (
      instance: string,
      scopes: ReadonlyArray<string> = ["read:instances", "write:instances", "read:feature_flags"],
    ) =>
      call("POST", `/instances/${instance}/keys`, { name: "on site", scopes }).pipe(
        Effect.map(({ body }) => ({ token: String(body.token), slug: String(body.slug) })),
      ),
  }
})
