import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { pageIds, wordsIn } from "../../src/kernel/database/Pages.ts"
import { isOnCitus } from "../support/Cluster.ts"
import { runPlanned } from "../support/plannedNodes.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"

const KINDS = ["customers", "deployment-zones", "entitlements", "instances", "licenses"] as const

/** An organization with a record of each kind that has this name. */
const named = Effect.fnUntraced(function* (name: string, slug: string) {
  const { core, tenant } = yield* TestService
  const { token } = yield* tenant()
  const post = (path: string, body: object) =>
    Effect.map(core("POST", path, { token, body }), ({ status, text }) => assert.isBelow(status, 300, text))
  yield* post("/customers", { name, slug })
  yield* post("/deployment-zones", { name, slug, type: "production" })
  yield* post("/entitlements", { name, slug, type: "NUMBER" })
  yield* post("/licenses", { name, slug, type: "PAID" })
  yield* post("/instances", {
    name,
    slug,
    customerSlug: slug,
    licenseSlug: slug,
    startLicenseDate: "2026-01-01T00:00:00Z",
    endLicenseDate: null,
  })
  /** How many records of each kind the search finds. */
  return Effect.fnUntraced(function* (q: string) {
    const pages = yield* Effect.forEach(KINDS, (kind) => core("GET", `/${kind}?q=${encodeURIComponent(q)}`, { token }))
    return pages.map(({ body }) => body.items.length as number)
  })
})

const ALL = KINDS.map(() => 1)
const NONE = KINDS.map(() => 0)

layer(TestService.layer, { excludeTestServices: true })("the search of a list", (it) => {
  it.effect("finds every kind of record by the beginnings of its words, in any order and case", () =>
    Effect.gen(function* () {
      const found = yield* named("Globex Logistics (Süd) GmbH & Co.", "xs-ts-prod")
      for (const q of [
        "globex",
        "LOGI",
        "gmbh",
        "süd",
        "ts-prod",
        "prod",
        "log glo",
        "co, globex",
        "xs logistics",
        "globex globex",
      ]) {
        assert.deepStrictEqual(yield* found(q), ALL, q)
      }
      for (const q of ["lobex", "ogistics", "globex nothing", "rod", "globexlog", "&", "%", "_", "\\", "'", " - "]) {
        assert.deepStrictEqual(yield* found(q), NONE, q)
      }
      assert.deepStrictEqual(yield* found(""), ALL)
    }),
  )

  it.effect("takes no character of a name or of a search for syntax", () =>
    Effect.gen(function* () {
      const found = yield* named('O\'Brien \\ 100% "A:*|B" a_b', "odd")
      for (const q of ["o'brien", "brien", '"a:*|b"', "100%", "a_b", "b"])
        assert.deepStrictEqual(yield* found(q), ALL, q)
      for (const q of ["a:b:c", "o'x", "1000%", "\\\\"]) assert.deepStrictEqual(yield* found(q), NONE, q)
    }),
  )

  it.effect("finds records of its own organization only", () =>
    Effect.gen(function* () {
      const one = yield* named("Shared name", "shared")
      const other = yield* named("Other name", "other")
      assert.deepStrictEqual([yield* one("shared"), yield* other("shared")], [ALL, NONE])
    }),
  )

  it.effect("finds a record by its new name, and no longer by the old one", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* core("POST", "/customers", { token, body: { name: "Initech Berlin", slug: "one" } })
      yield* core("PATCH", "/customers/one", { token, body: { name: "Umbrella Hamburg" } })
      const count = (q: string) =>
        Effect.map(core("GET", `/customers?q=${q}`, { token }), ({ body }) => body.items.length)
      assert.deepStrictEqual([yield* count("berlin"), yield* count("hamb")], [0, 1])
    }),
  )
})

layer(TestService.separate, { excludeTestServices: true })("the statement of a search", (it) => {
  it.effect.skipIf(isOnCitus)(
    withReason(
      "reads the first rows of the list, and otherwise the index of words",
      isOnCitus ? "Citus plans on its workers" : undefined,
    ),
    () =>
      Effect.gen(function* () {
        const { tenant } = yield* TestService
        const { organizationId } = yield* tenant()
        const sql = yield* PgClient.PgClient
        yield* sql`
          INSERT INTO customers (organization_id, id, name, slug, created_at, created_by, updated_at, updated_by)
          SELECT ${organizationId}::uuid, gen_random_uuid(), 'Customer ' || number || CASE WHEN number % 2 = 0 THEN ' Even' ELSE '' END
            || CASE WHEN number = 4711 THEN ' Needle' ELSE '' END, 'c-' || number, now(), '{}', now(), '{}'
          FROM generate_series(1, 20000) AS number`
        yield* sql`ANALYZE customers`
        for (const [q, usesIndex] of [
          ["needle", true],
          ["need 4711", true],
          ["nothing", true],
          ["even", false],
        ] as const) {
          const page = pageIds(
            sql,
            "newest",
          )({
            table: "customers",
            organizationId,
            after: sql`id < ${"ffffffff-ffff-ffff-ffff-ffffffffffff"}`,
            count: 51,
            where: [],
            unordered: wordsIn(sql, organizationId, q),
          })
          const { indexes, mostRows } = yield* runPlanned(sql, page)
          assert.strictEqual(indexes.includes("customers_words"), usesIndex, q)
          assert.isAtMost(mostRows, 3000, q)
        }
      }),
  )
})
