import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"

const DAY_MS = 86_400_000
const days = (count: number) => new Date(Date.now() + count * DAY_MS).toISOString()

const open = Effect.gen(function* () {
  const { core, tenant, tokenWith } = yield* TestService
  const mine = yield* tenant()
  const { token } = mine
  const make = (path: string, body: object) =>
    Effect.map(core("POST", path, { token, body }), ({ body: made, status }) => {
      assert.strictEqual(status, 201, path)
      return made
    })
  const overview = Effect.map(core("GET", "/overview", { token }), ({ body }) => body)
  return { core, make, mine, overview, token, tokenWith }
})

interface Listed {
  readonly slug: string
  readonly accessEndsAt: string
}

const slugs = ({ items }: { readonly items: ReadonlyArray<Listed> }) => items.map(({ slug }) => slug)

layer(TestService.layer, { excludeTestServices: true })("the overview", (it) => {
  it.effect("of a new organization has nothing, and each first record shows as soon as it is there", () =>
    Effect.gen(function* () {
      const { make, mine, overview } = yield* open
      const none = { count: 0, truncated: false }
      const { asOf, ...first } = yield* overview
      assert.isBelow(Math.abs(Date.parse(asOf) - Date.now()), 60_000)
      assert.deepStrictEqual(first, {
        customers: none,
        activeInstances: none,
        ending: { ...none, items: [] },
        inGrace: { ...none, items: [] },
        setUp: {
          entitlement: false,
          license: false,
          customer: false,
          instance: false,
          licenseKey: false,
          licenseKeyUsed: false,
        },
      })
      const setUp = Effect.map(overview, (found) =>
        Object.entries(found.setUp as Record<string, boolean>).flatMap(([name, isThere]) => (isThere ? [name] : [])),
      )
      yield* make("/entitlements", { name: "API calls", type: "NUMBER" })
      assert.deepStrictEqual(yield* setUp, ["entitlement"])
      yield* make("/licenses", { name: "Pro", type: "PAID" })
      assert.deepStrictEqual(yield* setUp, ["entitlement", "license"])
      yield* make("/customers", { name: "Globex" })
      assert.deepStrictEqual(yield* setUp, ["entitlement", "license", "customer"])
      yield* make("/instances", {
        name: "Globex",
        customerSlug: "globex",
        licenseSlug: "pro",
        startLicenseDate: days(-1),
        endLicenseDate: null,
      })
      assert.deepStrictEqual(yield* setUp, ["entitlement", "license", "customer", "instance"])
      yield* make("/instances/globex/keys", { name: "Key" })
      assert.deepStrictEqual(yield* setUp, ["entitlement", "license", "customer", "instance", "licenseKey"])
      // The service stores last uses once a minute.
      const sql = yield* PgClient.PgClient
      yield* sql`UPDATE credentials SET last_used_at = now()
        WHERE organization_id = ${mine.organizationId} AND instance_slug = 'globex'`
      assert.include(yield* setUp, "licenseKeyUsed")
    }),
  )

  it.effect("counts what is in its term, ends soon or is in grace, and lists what ends first", () =>
    Effect.gen(function* () {
      const { make, overview } = yield* open
      yield* make("/customers", { name: "Globex" })
      yield* make("/licenses", { name: "Pro", type: "PAID", graceDays: 14 })
      yield* make("/licenses", { name: "Trial", type: "TRIAL" })
      for (const [slug, licenseSlug, starts, ends, graceDays] of [
        ["open-ended", "pro", -10, null, null],
        ["ends-later", "pro", -10, 31, null],
        ["ends-in-9", "pro", -10, 9, null],
        ["ends-in-2", "trial", -10, 2, null],
        ["not-started", "pro", 5, 400, null],
        ["ended", "trial", -10, -1, null],
        ["grace-of-license", "pro", -100, -2, null],
        ["grace-is-over", "pro", -100, -15, null],
        ["grace-of-its-own", "trial", -100, -20, 25],
        ["no-grace-of-its-own", "pro", -100, -2, 0],
        ["long-grace", "trial", -400, -100, 365],
      ] as const) {
        yield* make("/instances", {
          name: slug,
          slug,
          customerSlug: "globex",
          licenseSlug,
          startLicenseDate: days(starts),
          endLicenseDate: ends === null ? null : days(ends),
          ...(graceDays === null ? {} : { graceDays }),
        })
      }
      const found = yield* overview
      assert.deepStrictEqual(found.customers, { count: 1, truncated: false })
      assert.deepStrictEqual(found.activeInstances, { count: 4, truncated: false })
      assert.strictEqual(found.ending.count, 2)
      assert.deepStrictEqual(slugs(found.ending), ["ends-in-2", "ends-in-9"])
      assert.strictEqual(found.inGrace.count, 3)
      assert.deepStrictEqual(slugs(found.inGrace), ["grace-of-its-own", "grace-of-license", "long-grace"])
      const [soonest] = found.inGrace.items
      assert.deepInclude(soonest, { customerSlug: "globex", licenseSlug: "trial", name: "grace-of-its-own" })
      assert.strictEqual(Date.parse(soonest.accessEndsAt), Date.parse(soonest.endLicenseDate) + 25 * DAY_MS)
      const [, later] = found.ending.items
      assert.strictEqual(Date.parse(later.accessEndsAt), Date.parse(later.endLicenseDate) + 14 * DAY_MS)
    }),
  )

  it.effect("counts exactly up to 10,000, and says that there are more", () =>
    Effect.gen(function* () {
      const { make, mine, overview } = yield* open
      const sql = yield* PgClient.PgClient
      yield* make("/customers", { name: "Globex" })
      const add = (count: number) => sql`
        INSERT INTO customers (organization_id, id, name, slug, created_at, created_by, updated_at, updated_by)
        SELECT organization_id, gen_random_uuid(), name, gen_random_uuid()::text, created_at, created_by, updated_at, updated_by
        FROM customers, generate_series(1, ${count}::int) WHERE organization_id = ${mine.organizationId} AND slug = 'globex'`
      yield* add(9_999)
      assert.deepStrictEqual((yield* overview).customers, { count: 10_000, truncated: false })
      yield* add(1)
      assert.deepStrictEqual((yield* overview).customers, { count: 10_000, truncated: true })
    }),
  )

  it.effect("keeps the number of customers from those who may not read them", () =>
    Effect.gen(function* () {
      const { core, make, mine, tokenWith } = yield* open
      yield* make("/customers", { name: "Globex" })
      const token = yield* tokenWith(mine, ["read:instances"])
      assert.isNull((yield* core("GET", "/overview", { token })).body.customers)
    }),
  )
})
