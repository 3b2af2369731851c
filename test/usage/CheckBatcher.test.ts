import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { randomUUID } from "node:crypto"
import { InstanceNotFound } from "../../src/domains/instances/Errors.ts"
import { TestService } from "../support/TestService.ts"
import { organizationIdOf } from "../support/organizationIds.ts"
import { openMeteredShop } from "./MeteredShop.ts"
import { checkAs, usageWithRepo } from "./UsageWithRepo.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

const limits = [5, 100, 1000]

/** Shops with the same slugs and different limits. */
const openAlike = Effect.forEach(limits, (limit) => Effect.tap(openMeteredShop, (shop) => shop.metered("calls", limit)))

// Slugs that PostgreSQL could confuse with the end of a text or a list, or with NULL.
const unknown = ["unknown", "", 'a"b', "c\\d", '\\"', "{e,f}", "NULL", " g ", "h\ni", "{}"]

const turns = Array.from({ length: 60 }, (_, turn) => turn)

layer(TestService.layer, { excludeTestServices: true })("concurrent checks of several organizations", (it) => {
  it.effect("each return the limits and usage of their own organization", () =>
    Effect.gen(function* () {
      const shops = yield* openAlike
      const results = yield* Effect.forEach(
        turns,
        (turn) => {
          const number = turn % limits.length
          const asked = shops[number]?.call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] })
          return Effect.map(asked ?? Effect.die("no shop"), ({ body }) => [body.checks[0].limit, limits[number]])
        },
        { concurrency: "unbounded" },
      )
      for (const [limit, own] of results) assert.strictEqual(limit, own)
    }),
  )

  it.effect("each return the requested entitlements in order, however many are batched", () =>
    Effect.gen(function* () {
      const shop = yield* openMeteredShop
      const slugs = Array.from({ length: 45 }, (_, n) => `meter-${n}`)
      yield* Effect.forEach(slugs, (slug, n) => shop.metered(slug, n), { concurrency: 4 })
      const asked = turns.map((turn) =>
        slugs
          .slice(0, turn === 0 ? 45 : turn % 12)
          .toReversed()
          .concat(unknown[turn % unknown.length] ?? ""),
      )
      const results = yield* Effect.forEach(
        asked,
        (some) => shop.call("POST", "/instances/prod/check", { checks: some.map((entitlement) => ({ entitlement })) }),
        { concurrency: "unbounded" },
      )
      for (const [turn, { body }] of results.entries()) {
        const answers: ReadonlyArray<{ readonly entitlement: string; readonly limit: number | null }> = body.checks
        assert.deepStrictEqual(
          answers.map(({ entitlement, limit }) => [entitlement, limit]),
          asked[turn]?.map((slug) => [slug, unknown.includes(slug) ? null : slugs.indexOf(slug)]),
        )
      }
    }),
  )

  it.effect("and reports use only the limits of their own organization", () =>
    Effect.gen(function* () {
      const shops = yield* openAlike
      const answers = yield* Effect.forEach(
        turns,
        (turn) => {
          const shop = shops[turn % limits.length]
          if (shop === undefined) return Effect.die("no shop")
          return turn % 2 === 0
            ? Effect.map(shop.check([{ entitlement: "calls" }]), ({ body }) => body.checks[0].allowed === true)
            : Effect.map(shop.report("calls", { value: 1 }), ({ status }) => status === 200)
        },
        { concurrency: "unbounded" },
      )
      const taken = limits.map(
        (_, number) => answers.filter((ok, turn) => ok && turn % limits.length === number).length,
      )
      assert.deepStrictEqual(taken, [5, 20, 20])
      assert.deepStrictEqual(yield* Effect.forEach(shops, ({ used }) => used("calls")), [5, 20, 20])
    }),
  )
})

/** The organizations of each statement, and the one that was passed as `within`. */
type Statements = Array<{ readonly within: string | null; readonly organizations: ReadonlyArray<string> }>

/**
 * A repository that fails for the instance "broken" at once, and is slow for the others. It always names the organization to the
 * database, because the database of the test may be sharded.
 */
const usageOn = (statements: Statements, separatesOrganizations: boolean) =>
  usageWithRepo((repo) => ({
    separatesOrganizations,
    findWithCatalog: (asked, within) => {
      const organizations = [...new Set(asked.map(({ organizationId }) => organizationId))]
      statements.push({ within, organizations })
      return asked.some(({ instance }) => instance === "broken")
        ? Effect.die(new Error("The statement failed"))
        : Effect.andThen(Effect.sleep("10 millis"), repo.findWithCatalog(asked, within ?? organizations[0] ?? null))
    },
  }))

const askAs = (organizationId: OrganizationId, instance: string, entitlements: number) => {
  const slugs = Array.from({ length: entitlements }, (_, n) => `meter-${n}`)
  return Effect.exit(checkAs(organizationId, instance, slugs))
}

describe("a failing statement", () => {
  it.live("fails only the checks that it contains", () =>
    Effect.gen(function* () {
      const organizationId = organizationIdOf(randomUUID())
      const [broken, other] = yield* Effect.all(
        [askAs(organizationId, "broken", 30), askAs(organizationId, "other", 30)],
        { concurrency: "unbounded" },
      )
      assert.isTrue(Exit.hasDies(broken))
      // Its check ran, but there is no such instance.
      assert.instanceOf(yield* Effect.flip(other), InstanceNotFound)
    }).pipe(Effect.provide(usageOn([], false))),
  )

  it.live("is repeated for each organization, so that it fails no other organization's checks", () => {
    const statements: Statements = []
    return Effect.gen(function* () {
      const newOrganization = () => organizationIdOf(randomUUID())
      const organizations = [newOrganization(), newOrganization(), newOrganization()] as const
      const [broken, ...others] = yield* Effect.all(
        [
          askAs(organizations[0], "broken", 1),
          askAs(organizations[1], "other", 1),
          askAs(organizations[2], "other", 1),
        ],
        { concurrency: "unbounded" },
      )
      assert.isTrue(Exit.hasDies(broken))
      for (const other of others) assert.instanceOf(yield* Effect.flip(other), InstanceNotFound)
      assert.deepStrictEqual(statements, [
        { within: null, organizations },
        ...organizations.map((organization) => ({ within: organization, organizations: [organization] })),
      ])
    }).pipe(Effect.provide(usageOn(statements, false)))
  })
})

describe("a database that is sharded by organization", () => {
  it.live("gets one statement for each organization", () => {
    const statements: Statements = []
    return Effect.gen(function* () {
      const organizations = [organizationIdOf(randomUUID()), organizationIdOf(randomUUID())]
      const answers = yield* Effect.forEach(
        [...organizations, ...organizations],
        (organization) => askAs(organization, "other", 1),
        { concurrency: "unbounded" },
      )
      for (const answer of answers) assert.instanceOf(yield* Effect.flip(answer), InstanceNotFound)
      assert.deepStrictEqual(
        statements,
        organizations.map((organization) => ({ within: organization, organizations: [organization] })),
      )
    }).pipe(Effect.provide(usageOn(statements, true)))
  })
})
