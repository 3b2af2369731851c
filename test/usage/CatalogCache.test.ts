import { assert, it as test, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { resetAnchors, resetPeriods } from "../../src/domains/entitlements/Model.ts"
import { makeCatalogCache } from "../../src/domains/usage/check/hotpath/CatalogCache.ts"
import { isOnCitus } from "../support/Cluster.ts"
import { withReason } from "../support/skipped.ts"
import { testSql } from "../support/TestDatabase.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { TestService } from "../support/TestService.ts"
import { organizationIdOf } from "../support/organizationIds.ts"
import { randomIntegers } from "./RandomGenerator.ts"
import { daysAgo, openMeteredShop } from "./MeteredShop.ts"
import { checkAs, usageWithRepo } from "./UsageWithRepo.ts"

const services = testSql.pipe(Layer.provideMerge(TestService.separate))

// From the third time on, an unchanged check has a cached answer.
const OFTEN = 3

/** A shop with an instance "prod" whose check is cached. */
const openCached = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const sql = yield* PgClient.PgClient
  const ask = (...slugs: ReadonlyArray<string>) =>
    Effect.map(
      shop.call("POST", "/instances/prod/check", { checks: slugs.map((entitlement) => ({ entitlement })) }),
      ({ body }) => body.checks,
    )
  /** The reason, the limit and the usage. */
  const reasonOf = (slug: string) => Effect.map(ask(slug), ([{ limit, reason, usage }]) => [reason, limit, usage])
  yield* shop.metered("calls", 10)
  yield* shop.report("calls", { value: 3 })
  for (let times = 0; times < OFTEN; times++) assert.deepStrictEqual(yield* reasonOf("calls"), ["GRANTED", 10, 3])
  /** The answer to one check at an instant. */
  const askAt = (at: string, check: object) =>
    Effect.map(shop.call("POST", "/instances/prod/check", { checks: [check], at }), ({ body }) => {
      assert.strictEqual(body.at, at)
      return body.checks[0]
    })
  const grants = `/licenses/pro/entitlements`
  return { ...shop, sql, ask, askAt, reasonOf, grants }
})

layer(services, { excludeTestServices: true })("a repeated check", (it) => {
  it.effect("returns usage that was reported in the meantime", () =>
    Effect.gen(function* () {
      const { report, reasonOf } = yield* openCached
      yield* report("calls", { value: 7 })
      assert.deepStrictEqual(yield* reasonOf("calls"), ["LIMIT_REACHED", 10, 10])
    }),
  )

  it.effect("returns a changed limit at once", () =>
    Effect.gen(function* () {
      const { call, grants, reasonOf } = yield* openCached
      yield* call("PUT", `${grants}/calls`, { value: 2 })
      assert.deepStrictEqual(yield* reasonOf("calls"), ["LIMIT_REACHED", 2, 3])
      yield* call("PUT", `${grants}/calls`, { overagePercent: 100 })
      assert.deepStrictEqual(yield* reasonOf("calls"), ["SOFT_LIMIT", 2, 3])
    }),
  )

  it.effect("is denied after a grant is deleted, and allowed when it is granted again", () =>
    Effect.gen(function* () {
      const { call, grant, grants, reasonOf } = yield* openCached
      yield* call("DELETE", `${grants}/calls`)
      assert.deepStrictEqual(yield* reasonOf("calls"), ["NOT_GRANTED", null, 3])
      assert.deepStrictEqual(yield* reasonOf("calls"), ["NOT_GRANTED", null, 3])
      yield* grant("pro", "calls", -1)
      assert.deepStrictEqual(yield* reasonOf("calls"), ["UNLIMITED", -1, 3])
    }),
  )

  it.effect("uses a new entitlement with the slug of a deleted one", () =>
    Effect.gen(function* () {
      const { call, entitlement, reasonOf } = yield* openCached
      yield* entitlement("exports", { resetPeriod: "DAY" })
      assert.deepStrictEqual(yield* reasonOf("exports"), ["NOT_GRANTED", null, 0])
      yield* call("DELETE", "/entitlements/exports")
      assert.deepStrictEqual(yield* reasonOf("exports"), ["ENTITLEMENT_NOT_FOUND", null, null])
      yield* entitlement("exports", { type: "BOOLEAN" })
      assert.deepStrictEqual(yield* reasonOf("exports"), ["NOT_GRANTED", null, null])
    }),
  )

  it.effect("uses the grants of another license once the instance has it", () =>
    Effect.gen(function* () {
      const { call, grant, license, reasonOf } = yield* openCached
      yield* license("team")
      yield* grant("team", "calls", 50)
      yield* call("PATCH", "/instances/prod", { licenseSlug: "team" })
      assert.deepStrictEqual(yield* reasonOf("calls"), ["GRANTED", 50, 3])
      yield* call("PATCH", "/instances/prod", { licenseSlug: "pro" })
      assert.deepStrictEqual(yield* reasonOf("calls"), ["GRANTED", 10, 3])
    }),
  )

  it.effect("returns the usage of another period after the license start was moved", () =>
    Effect.gen(function* () {
      const { ask, call, metered, report } = yield* openCached
      yield* metered("seats", 10, { resetPeriod: "DAY", resetAnchor: "LICENSE_START" })
      const periodOf = Effect.map(ask("seats"), ([{ currentPeriodStart, usage }]) => [currentPeriodStart, usage])
      yield* report("seats", { value: 4 })
      const [before, usage] = yield* periodOf
      assert.strictEqual(usage, 4)
      assert.deepStrictEqual(yield* periodOf, [before, 4])
      const startLicenseDate = new Date(Date.parse(daysAgo(300)) - 5 * 3_600_000).toISOString()
      yield* call("PATCH", "/instances/prod", { startLicenseDate })
      const [after, used] = yield* periodOf
      assert.strictEqual((Date.parse(after) - Date.parse(startLicenseDate)) % DAY_MS, 0)
      assert.strictEqual(used, 0)
    }),
  )

  it.effect("sees manual changes in the database, but none that were rolled back", () =>
    Effect.gen(function* () {
      const { sql, tenant, reasonOf } = yield* openCached
      const granted = (value: string) => sql`UPDATE license_entitlements SET value = ${value}::text::jsonb
        WHERE organization_id = ${tenant.organizationId}`
      yield* Effect.ignore(sql.withTransaction(Effect.andThen(granted("99"), Effect.fail("rolled back"))))
      assert.deepStrictEqual(yield* reasonOf("calls"), ["GRANTED", 10, 3])
      yield* granted("5")
      assert.deepStrictEqual(yield* reasonOf("calls"), ["GRANTED", 5, 3])
    }),
  )

  it.effect("is denied before the license starts and after it ends, although nothing else has changed", () =>
    Effect.gen(function* () {
      const { askAt, call, entitlement, grant, instance, reasonOf } = yield* openCached
      const { startLicenseDate } = instance
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro", "sso", true)
      for (const slug of ["calls", "sso"]) {
        const reasonAt = (at: string) => Effect.map(askAt(at, { entitlement: slug }), ({ reason }) => reason)
        yield* call("PATCH", "/instances/prod", { startLicenseDate })
        for (let times = 0; times < OFTEN; times++) {
          assert.strictEqual(yield* reasonAt("2098-12-31T23:59:59.999Z"), "GRANTED")
          assert.strictEqual(yield* reasonAt("2099-01-01T00:00:00.000Z"), "LICENSE_EXPIRED")
        }
        yield* call("PATCH", "/instances/prod", { startLicenseDate: "2090-01-01T00:00:00Z" })
        for (let times = 0; times < OFTEN; times++) {
          assert.strictEqual(yield* reasonAt("2090-01-01T00:00:00.000Z"), "GRANTED")
          assert.strictEqual(yield* reasonAt("2089-12-31T23:59:59.999Z"), "LICENSE_NOT_STARTED")
        }
      }
      yield* call("PATCH", "/instances/prod", { startLicenseDate })
      for (let times = 0; times < OFTEN; times++) assert.deepStrictEqual(yield* reasonOf("calls"), ["GRANTED", 10, 3])
      yield* call("PATCH", "/instances/prod", { endLicenseDate: daysAgo(1) })
      assert.deepStrictEqual(yield* reasonOf("calls"), ["LICENSE_EXPIRED", 10, 3])
    }),
  )

  it.effect("returns the usage of the next period from its first instant", () =>
    Effect.gen(function* () {
      const { askAt, metered, report } = yield* openCached
      for (const resetAnchor of resetAnchors) {
        const slug = `hours-${resetAnchor.toLowerCase()}`.replace("_", "-")
        yield* metered(slug, 10, { resetPeriod: "HOUR", resetAnchor })
        yield* report(slug, { value: 4 })
        // No hour ends during the checks.
        const soon = new Date(Date.now() + 60_000).toISOString()
        const { currentPeriodEnd, usage } = yield* askAt(soon, { entitlement: slug })
        assert.include([0, 4], usage)
        const last = new Date(Date.parse(currentPeriodEnd) - 1).toISOString()
        const usageAt = (at: string) => Effect.map(askAt(at, { entitlement: slug }), (answer) => answer.usage)
        for (let times = 0; times < OFTEN; times++) assert.strictEqual(yield* usageAt(last), usage)
        assert.strictEqual(yield* usageAt(currentPeriodEnd), 0)
        assert.strictEqual(yield* usageAt(last), usage)
      }
    }),
  )

  it.effect("is decided with the amount of each request", () =>
    Effect.gen(function* () {
      const { call } = yield* openCached
      const asked = (requested?: number) =>
        Effect.map(
          call("POST", "/instances/prod/check", {
            checks: [{ entitlement: "calls", ...(requested === undefined ? {} : { requested }) }],
          }),
          ({ body }) => body.checks[0].reason,
        )
      for (const [requested, reason] of [
        [7, "GRANTED"],
        [8, "LIMIT_REACHED"],
        [undefined, "GRANTED"],
        [7, "GRANTED"],
        [0, "GRANTED"],
        [1000, "LIMIT_REACHED"],
      ] as const) {
        for (let times = 0; times < OFTEN; times++) assert.strictEqual(yield* asked(requested), reason)
      }
    }),
  )

  it.effect("sees new reservations, and does not find a deleted instance", () =>
    Effect.gen(function* () {
      const { ask, call, instanceOf } = yield* openCached
      yield* call("POST", "/instances/prod/entitlements/calls/reservations", { quantity: 5 })
      for (let times = 0; times < OFTEN; times++) assert.strictEqual((yield* ask("calls"))[0].remaining, 2)
      yield* instanceOf("Spare", "acme", "pro")
      const asked = call("POST", "/instances/spare/check", { checks: [{ entitlement: "calls" }] })
      assert.strictEqual((yield* asked).status, 200)
      yield* call("DELETE", "/instances/spare")
      assert.strictEqual((yield* asked).status, 404)
    }),
  )
})

const kinds: ReadonlyArray<object> = [
  { type: "BOOLEAN" },
  { type: "CONFIG" },
  { resetAnchor: "LICENSE_START" },
  ...resetPeriods.flatMap((resetPeriod) => resetAnchors.map((resetAnchor) => ({ resetPeriod, resetAnchor }))),
]
const STEPS = 120

layer(services, { excludeTestServices: true })("random changes between checks", (it) => {
  it.effect(
    "every check returns the same as one without a cache",
    () =>
      Effect.gen(function* () {
        const { call, entitlement, grant, license, report } = yield* openMeteredShop
        yield* license("team")
        const slugs = kinds.map((_, number) => `kind-${number}`)
        yield* Effect.forEach(kinds, (kind, number) => entitlement(`kind-${number}`, kind))
        const random = randomIntegers(11)
        const any = <A>(all: ReadonlyArray<A>): A => all[random(all.length)] as A
        const valueOf = (slug: string) => {
          const { type = "NUMBER" } = kinds[slugs.indexOf(slug)] as { readonly type?: string }
          return type === "NUMBER"
            ? any([-1, 5, 20, 0.5])
            : type === "BOOLEAN"
              ? any([true, false])
              : { size: random(3) }
        }
        yield* Effect.forEach(slugs, (slug) => grant("pro", slug, valueOf(slug)))
        const change = () => {
          const slug = any(slugs)
          const grants = `/licenses/${any(["pro", "team"])}/entitlements`
          switch (random(16)) {
            case 0:
              return call("PUT", `${grants}/${slug}`, { value: valueOf(slug) })
            case 1:
              return call("DELETE", `${grants}/${slug}`)
            case 2:
            case 3:
              return call("POST", grants, { entitlementSlug: slug, value: valueOf(slug), overagePercent: any([0, 50]) })
            case 4:
              return call("PATCH", "/instances/prod", { licenseSlug: any(["pro", "team"]) })
            case 5:
              return call("PATCH", "/instances/prod", { startLicenseDate: daysAgo(200 + random(100) / 7) })
            case 6:
              return call("PATCH", "/instances/prod", {
                endLicenseDate: any([null, "2099-01-01T00:00:00Z", daysAgo(1)]),
              })
            case 7:
              return call("PATCH", "/instances/prod", { graceDays: any([null, 0, 7]) })
            case 8:
              return call("PUT", `/licenses/${any(["pro", "team"])}`, { graceDays: any([0, 7, 14]) })
            case 9:
              return call("POST", `/instances/prod/entitlements/${any(slugs.slice(2))}/reservations`, { quantity: 1 })
            case 10: {
              const override = `/instances/prod/entitlements/${slug}/override`
              const soon = new Date(Date.now() + random(60_000) + 30_000).toISOString()
              const times = any([{}, { endsAt: soon }, { startsAt: soon }])
              const value = valueOf(slug)
              return random(3) === 0
                ? call("DELETE", override)
                : call("PUT", override, {
                    mode: any(typeof value === "number" ? ["SET", "ADD"] : ["SET"]),
                    value,
                    ...times,
                  })
            }
            case 11:
            case 12:
              return call("POST", "/instances/prod/offline-bundles", {
                ttlSeconds: any([3_600, 86_400]),
                graceSeconds: 0,
                allowances: [{ entitlement: any(slugs.slice(2)), quantity: 1 + random(3) }],
              })
            case 13:
              return Effect.flatMap(call("GET", "/instances/prod/offline-bundles"), ({ body }) =>
                call(
                  "DELETE",
                  `/instances/prod/offline-bundles/${any(body.items as Array<{ id: string }>)?.id}?release=true`,
                ),
              )
            default:
              return report(slug, { value: 1 + random(3) })
          }
        }
        let changes = 0
        const all = slugs.map((slug) => ({ entitlement: slug }))
        const someOf = (slugOf: () => string) =>
          Array.from({ length: 1 + random(8) }, () => ({ entitlement: slugOf(), requested: random(4) }))
        const askedAgain = Array.from({ length: 6 }, () => someOf(() => any(slugs)))
        for (let step = 0; step < STEPS; step++) {
          const checks = random(4) === 0 ? someOf(() => (random(20) === 0 ? "unknown" : any(slugs))) : any(askedAgain)
          // All checks have the same instant, so that no period ends between them.
          const at = new Date(Date.now() + 60_000).toISOString()
          // Everything is cached when it changes.
          yield* call("POST", "/instances/prod/check", { checks: all })
          for (let times = 0; times < OFTEN; times++) yield* call("POST", "/instances/prod/check", { checks, at })
          if ((yield* change()).status < 300) changes++
          const cached = yield* call("POST", "/instances/prod/check", { checks, at })
          const explained = yield* call("POST", "/instances/prod/check", { checks, at, explain: true })
          const plain = explained.body.checks.map(({ explanation: _, ...answer }: { explanation: unknown }) => answer)
          assert.deepStrictEqual(cached.body, { ...explained.body, checks: plain }, `step ${step}`)
        }
        assert.isAbove(changes, STEPS / 2)
      }),
    120_000,
  )

  it.effect(
    "concurrent changes of the catalog all get a response, and checks see their result",
    () =>
      Effect.gen(function* () {
        const { call, entitlement, license } = yield* openMeteredShop
        const licenses = ["pro", "team", "trial"]
        const slugs = ["seats", "calls", "exports", "regions"]
        yield* Effect.forEach(licenses.slice(1), (slug) => license(slug))
        yield* Effect.forEach(slugs, (slug) => entitlement(slug))
        const checks = slugs.map((slug) => ({ entitlement: slug }))
        const changes = (seed: number) => {
          const random = randomIntegers(seed)
          const any = <A>(all: ReadonlyArray<A>): A => all[random(all.length)] as A
          const change = Effect.suspend(() => {
            const slug = any(slugs)
            const grants = `/licenses/${any(licenses)}/entitlements`
            switch (random(7)) {
              case 0:
                return call("DELETE", `/entitlements/${slug}`)
              case 1:
                return call("POST", "/entitlements", {
                  name: slug,
                  slug,
                  type: "NUMBER",
                  resetPeriod: any(resetPeriods),
                })
              case 2:
                return call("DELETE", `${grants}/${slug}`)
              case 3:
                return call("PUT", `${grants}/${slug}`, { value: random(100) })
              case 4:
                return call("PATCH", "/instances/prod", { licenseSlug: any(licenses) })
              case 5:
                return call("POST", "/instances/prod/check", { checks })
              default:
                return call("POST", grants, { entitlementSlug: slug, value: random(100) })
            }
          })
          return Effect.replicateEffect(change, STEPS / 4)
        }
        const answers = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], changes, { concurrency: "unbounded" })
        const byStatus = Map.groupBy(answers.flat(), ({ status }) => status)
        assert.includeMembers([200, 201, 204, 404, 409, 422], [...byStatus.keys()])
        assert.includeMembers([...byStatus.keys()], [200, 201, 204, 404, 409])
        const at = new Date(Date.now() + 60_000).toISOString()
        const cached = yield* call("POST", "/instances/prod/check", { checks, at })
        const explained = yield* call("POST", "/instances/prod/check", { checks, at, explain: true })
        const plain = explained.body.checks.map(({ explanation: _, ...answer }: { explanation: unknown }) => answer)
        assert.deepStrictEqual(cached.body.checks, plain)
      }),
    120_000,
  )
})

/** Checks outside the service, with a cache of their own. It records the statements of each check. */
const openCounting = Effect.gen(function* () {
  const asked: Array<"catalog" | "usage"> = []
  let isBroken = false
  const counted = usageWithRepo((repo) => ({
    findWithCatalog: (...args) => {
      asked.push("catalog")
      return repo.findWithCatalog(...args)
    },
    findUsage: (...args) => {
      asked.push("usage")
      return isBroken ? Effect.die(new Error("The statement failed")) : repo.findUsage(...args)
    },
  }))
  const built = yield* Layer.build(counted)
  return {
    /** From now on, statements that read only the usage fail. */
    breakUsage: () => (isBroken = true),
    /** The statements of a check. */
    askedBy: (organizationId: OrganizationId, ...slugs: ReadonlyArray<string>) =>
      Effect.suspend(() => {
        asked.length = 0
        return Effect.map(checkAs(organizationId, "prod", slugs), () => [...asked])
      }).pipe(Effect.provide(built)),
  }
})

const whyNotCached = isOnCitus ? "on Citus, catalogs are not cached" : undefined

layer(services, { excludeTestServices: true })(withReason("the catalog of a check", whyNotCached), (tests) => {
  const it = { effect: whyNotCached === undefined ? tests.effect : tests.effect.skip }

  it.effect("is read only if it is not cached or has changed", () =>
    Effect.gen(function* () {
      const { call, entitlement, metered, report, tenant } = yield* openMeteredShop
      const { askedBy } = yield* openCounting
      const ask = (...slugs: ReadonlyArray<string>) => askedBy(tenant.organizationId, ...slugs)
      yield* metered("calls", 10)
      yield* metered("seats", 5, { resetPeriod: "MONTH", resetAnchor: "LICENSE_START" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      assert.deepStrictEqual(yield* ask("calls", "sso"), ["catalog"])
      assert.deepStrictEqual(yield* ask("calls", "sso"), ["usage"])
      assert.deepStrictEqual(yield* ask("calls"), ["usage"])
      assert.deepStrictEqual(yield* ask("sso"), ["usage"])
      assert.deepStrictEqual(yield* ask("calls", "seats"), ["catalog"])
      assert.deepStrictEqual(yield* ask("calls", "seats", "sso"), ["usage"])
      yield* report("calls", { value: 1 })
      yield* entitlement("other")
      assert.deepStrictEqual(yield* ask("seats"), ["usage"])
      // The cached catalog has changed: it is read, and cached again.
      yield* call("PUT", "/licenses/pro/entitlements/calls", { value: 11 })
      assert.deepStrictEqual(yield* ask("calls"), ["usage", "catalog"])
      assert.deepStrictEqual(yield* ask("calls"), ["usage"])
      assert.deepStrictEqual(yield* ask("seats", "sso"), ["catalog"])
      assert.deepStrictEqual(yield* ask("calls", "sso"), ["usage"])
      assert.deepStrictEqual(yield* ask("seats"), ["usage"])
      yield* call("PATCH", "/instances/prod", { startLicenseDate: daysAgo(100) })
      assert.deepStrictEqual(yield* ask("seats"), ["usage", "catalog"])
      assert.deepStrictEqual(yield* ask("seats"), ["usage"])
      assert.deepStrictEqual(yield* ask("unknown"), ["catalog"])
      assert.deepStrictEqual(yield* ask("unknown"), ["catalog"])
    }).pipe(Effect.scoped),
  )

  it.effect("is read if the statement that reads only the usage fails", () =>
    Effect.gen(function* () {
      const { metered, tenant } = yield* openMeteredShop
      const { askedBy, breakUsage } = yield* openCounting
      yield* metered("calls", 10)
      yield* askedBy(tenant.organizationId, "calls")
      breakUsage()
      assert.deepStrictEqual(yield* askedBy(tenant.organizationId, "calls"), ["usage", "catalog"])
    }).pipe(Effect.scoped),
  )
})

test("a full catalog cache is cleared and filled again", () => {
  const catalogs = makeCatalogCache(20)
  const at = new Date("2026-05-01T00:00:00Z")
  const question = (number: number) => {
    const organizationId = organizationIdOf(`organization ${number}`)
    return { organizationId, instance: "prod", entitlements: ["calls"], at, known: at }
  }
  const row = {
    instance: "prod",
    license: "pro",
    startLicenseDate: at,
    endLicenseDate: null,
    graceDays: 0,
    licenseGraceDays: 0,
    licenseId: "1",
    catalogVersion: null,
    entitlement: "calls",
    entitlementId: "2",
    type: "NUMBER",
    resetPeriod: "MONTH",
    resetAnchor: "CALENDAR",
    granted: "5",
    addOns: null,
    override: null,
    aggregationMethod: "SUM",
    overagePercent: 0,
    periodStart: null,
    used: null,
    held: null,
    allowances: null,
    broughtIn: null,
    allowancesUntil: null,
    hasExtras: false,
  } as const
  const organizations = Array.from({ length: 30 }, (_, number) => number)
  const known = () => organizations.filter((number) => catalogs.usageQueryOf(question(number)) !== undefined)
  for (const number of organizations) {
    catalogs.learn(question(number), [row])
    assert.include(known(), number)
    assert.isAtMost(known().length, 6)
  }
})
