import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { randomUUID } from "node:crypto"
import { InstanceNotFound } from "../../src/domains/instances/Errors.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./Metered.ts"
import { checkAs, usageWithRepo } from "./UsageOver.ts"

const limits = [5, 100, 1000]

/** Shops that name everything alike, and differ in the limit alone. */
const openAlike = Effect.forEach(limits, (limit) => Effect.tap(openMeteredShop, (shop) => shop.metered("calls", limit)))

// What PostgreSQL could take for the end of a text, or of the list of them, or for none.
const unknown = ["unknown", "", 'a"b', "c\\d", '\\"', "{e,f}", "NULL", " g ", "h\ni", "{}"]

const turns = Array.from({ length: 60 }, (_, turn) => turn)

layer(TestService.layer, { excludeTestServices: true })("organizations that ask at the same moment", (it) => {
  it.effect("are each told of their own limits and usage", () =>
    Effect.gen(function* () {
      const shops = yield* openAlike
      const told = yield* Effect.forEach(
        turns,
        (turn) => {
          const number = turn % limits.length
          const asked = shops[number]?.call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] })
          return Effect.map(asked ?? Effect.die("no shop"), ({ body }) => [body.checks[0].limit, limits[number]])
        },
        { concurrency: "unbounded" },
      )
      for (const [limit, own] of told) assert.strictEqual(limit, own)
    }),
  )

  it.effect("are each told of what they asked, in their order, however much all ask together", () =>
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
      const told = yield* Effect.forEach(
        asked,
        (some) => shop.call("POST", "/instances/prod/check", { checks: some.map((entitlement) => ({ entitlement })) }),
        { concurrency: "unbounded" },
      )
      for (const [turn, { body }] of told.entries()) {
        const answers: ReadonlyArray<{ readonly entitlement: string; readonly limit: number | null }> = body.checks
        assert.deepStrictEqual(
          answers.map(({ entitlement, limit }) => [entitlement, limit]),
          asked[turn]?.map((slug) => [slug, unknown.includes(slug) ? null : slugs.indexOf(slug)]),
        )
      }
    }),
  )

  it.effect("use up their own limits, by checks and by reports, and nobody else's", () =>
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

/** Which organizations each statement was about, and the one it was said to be about. */
type Statements = Array<{ readonly within: string | null; readonly organizations: ReadonlyArray<string> }>

/** The database dies of questions about one instance, at once, and takes its time for the others. */
const usageOn = (statements: Statements, isSharded: boolean) =>
  usageWithRepo((repo) => ({
    isSharded,
    findWithCatalog: (asked, within) => {
      const organizations = [...new Set(asked.map(({ organizationId }) => organizationId))]
      statements.push({ within, organizations })
      return asked.some(({ instance }) => instance === "broken")
        ? Effect.die(new Error("The statement failed"))
        : Effect.andThen(Effect.sleep("10 millis"), repo.findWithCatalog(asked, within))
    },
  }))

const askAs = (organizationId: string, instance: string, entitlements: number) => {
  const slugs = Array.from({ length: entitlements }, (_, n) => `meter-${n}`)
  return Effect.exit(checkAs(organizationId, instance, slugs))
}

describe("a statement that fails", () => {
  it.live("takes only the checks with it that it was about", () =>
    Effect.gen(function* () {
      const organizationId = randomUUID()
      const [broken, other] = yield* Effect.all(
        [askAs(organizationId, "broken", 30), askAs(organizationId, "other", 30)],
        { concurrency: "unbounded" },
      )
      assert.isTrue(Exit.hasDies(broken))
      // It was asked about, and is not there.
      assert.instanceOf(yield* Effect.flip(other), InstanceNotFound)
    }).pipe(Effect.provide(usageOn([], false))),
  )

  it.live("takes nobody else's checks with it", () => {
    const statements: Statements = []
    return Effect.gen(function* () {
      const organizations = [randomUUID(), randomUUID(), randomUUID()] as const
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

describe("a database that is spread over nodes", () => {
  it.live("is asked about one organization by each statement", () => {
    const statements: Statements = []
    return Effect.gen(function* () {
      const organizations = [randomUUID(), randomUUID()]
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
