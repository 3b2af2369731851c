import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { locations, rejectionOf, vendor } from "./support.ts"

layer(TestService.layer, { excludeTestServices: true })("grants of licenses", (it) => {
  it.effect("a number, a boolean and a configuration are granted, listed, changed and removed", () =>
    Effect.gen(function* () {
      const { call, entitlement, events, license } = yield* vendor
      yield* license()
      yield* entitlement("CONFIG", "regions", { displayOrder: 2 })
      yield* entitlement("NUMBER", "seats", { displayOrder: 1 })
      yield* entitlement("BOOLEAN", "sso")
      const regions = { entitlementSlug: "regions", value: { allowed: ["eu", "us"] }, overagePercent: 0 }
      const seats = { entitlementSlug: "seats", value: 12.5, overagePercent: 10 }
      const sso = { entitlementSlug: "sso", value: true, overagePercent: 0 }
      for (const grant of [regions, seats, sso]) {
        const created = yield* call("POST", "/licenses/gold/entitlements", grant)
        assert.strictEqual(created.status, 201)
        assert.strictEqual(created.headers.get("location"), `/api/licenses/gold/entitlements/${grant.entitlementSlug}`)
        assert.deepStrictEqual(created.body, grant)
      }
      const first = yield* call("GET", "/licenses/gold/entitlements?limit=2")
      assert.deepStrictEqual(first.body.items, [sso, seats])
      const last = yield* call("GET", `/licenses/gold/entitlements?limit=2&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual(last.body, { items: [regions], hasMore: false, nextCursor: "" })

      const path = "/licenses/gold/entitlements/seats"
      assert.strictEqual((yield* call("PUT", path, { value: -1 })).status, 204)
      assert.strictEqual((yield* call("PUT", path, { overagePercent: 0 })).status, 204)
      const changed = { entitlementSlug: "seats", value: -1, overagePercent: 0 }
      assert.deepStrictEqual((yield* call("GET", "/licenses/gold/entitlements")).body.items[1], changed)
      assert.strictEqual((yield* call("PUT", "/licenses/gold/entitlements/sso", { value: false })).status, 204)
      assert.strictEqual((yield* call("DELETE", path)).status, 204)
      assert.deepStrictEqual((yield* call("GET", "/licenses/gold/entitlements")).body.items, [
        { ...sso, value: false },
        regions,
      ])
      const { id: licenseId } = (yield* call("GET", "/licenses/gold")).body
      const ofGold = { licenseId, licenseSlug: "gold" }
      const ofSeats = (yield* events).filter(({ data }) => data["entitlementSlug"] === "seats")
      assert.deepStrictEqual(
        ofSeats.map(({ type, data }) => [type, data]),
        [
          ["LICENSE_ENTITLEMENT_ASSIGNED", { ...ofGold, ...seats }],
          ["LICENSE_ENTITLEMENT_UPDATED", { ...ofGold, ...seats, value: -1 }],
          ["LICENSE_ENTITLEMENT_UPDATED", { ...ofGold, ...changed }],
          ["LICENSE_ENTITLEMENT_UNASSIGNED", { ...ofGold, ...changed }],
        ],
      )
    }),
  )

  it.effect("a value that does not match the type of the entitlement is rejected", () =>
    Effect.gen(function* () {
      const { call, entitlement, license } = yield* vendor
      yield* license()
      for (const type of ["NUMBER", "BOOLEAN", "CONFIG"]) yield* entitlement(type, type.toLowerCase())
      for (const [entitlementSlug, value] of [
        ["number", -2],
        ["number", -0.5],
        ["number", 1e18],
        ["number", true],
        ["number", "12"],
        ["number", null],
        ["boolean", 1],
        ["boolean", {}],
        ["config", false],
        ["config", [1]],
        ["config", { text: "x".repeat(16 * 1024) }],
      ] as const) {
        const rejected = yield* call("POST", "/licenses/gold/entitlements", { entitlementSlug, value })
        assert.strictEqual(rejected.status, 422, JSON.stringify({ entitlementSlug, value }).slice(0, 60))
        assert.deepStrictEqual([...new Set(locations(rejected))], ["body.value"])
      }
      yield* call("POST", "/licenses/gold/entitlements", { entitlementSlug: "number", value: 1 })
      const rejected = yield* call("PUT", "/licenses/gold/entitlements/number", { value: true })
      assert.deepStrictEqual(locations(rejected), ["body.value"])
    }),
  )

  it.effect("only a number can have an overage, of at most 1000 percent", () =>
    Effect.gen(function* () {
      const { call, entitlement, license } = yield* vendor
      yield* license()
      yield* entitlement("NUMBER", "seats")
      yield* entitlement("BOOLEAN", "sso")
      for (const grant of [
        { entitlementSlug: "seats", value: 1, overagePercent: 1000.5 },
        { entitlementSlug: "seats", value: 1, overagePercent: -1 },
        { entitlementSlug: "sso", value: true, overagePercent: 5 },
      ]) {
        const rejected = yield* call("POST", "/licenses/gold/entitlements", grant)
        assert.deepStrictEqual([rejected.status, locations(rejected)], [422, ["body.overagePercent"]])
      }
    }),
  )

  it.effect("an unknown entitlement is rejected in a body and not found in a path", () =>
    Effect.gen(function* () {
      const { call, entitlement, license } = yield* vendor
      yield* license()
      yield* entitlement("NUMBER", "seats")
      const rejected = yield* call("POST", "/licenses/gold/entitlements", { entitlementSlug: "chairs", value: 1 })
      assert.deepStrictEqual([rejected.status, locations(rejected)], [422, ["body.entitlementSlug"]])
      for (const slug of ["seats", "chairs"]) {
        for (const [method, body] of [["PUT", { value: 1 }], ["DELETE"]] as const) {
          const missing = yield* call(method, `/licenses/gold/entitlements/${slug}`, body)
          assert.deepStrictEqual(rejectionOf(missing), [404, "Entitlement.NotFound"])
        }
      }
    }),
  )

  it.effect("of concurrent grants of one entitlement, exactly one succeeds", () =>
    Effect.gen(function* () {
      const { call, entitlement, events, license } = yield* vendor
      yield* license()
      yield* entitlement("NUMBER", "seats")
      const responses = yield* Effect.all(
        Array.from({ length: 8 }, (_, value) =>
          call("POST", "/licenses/gold/entitlements", { entitlementSlug: "seats", value }),
        ),
        { concurrency: "unbounded" },
      )
      const rejected = responses.filter(({ status }) => status !== 201)
      assert.strictEqual(rejected.length, 7)
      for (const response of rejected) {
        assert.deepStrictEqual(rejectionOf(response), [409, "AssignLicenseEntitlement.AlreadyAssigned"])
      }
      assert.strictEqual((yield* events).filter(({ type }) => type === "LICENSE_ENTITLEMENT_ASSIGNED").length, 1)
    }),
  )

  it.effect("grants of an archived license can change", () =>
    Effect.gen(function* () {
      const { call, entitlement, license } = yield* vendor
      yield* license()
      yield* entitlement("NUMBER", "seats")
      yield* call("POST", "/licenses/gold/entitlements", { entitlementSlug: "seats", value: 1 })
      yield* call("POST", "/licenses/gold/archive")
      assert.strictEqual((yield* call("PUT", "/licenses/gold/entitlements/seats", { value: 2 })).status, 204)
    }),
  )

  it.effect("a granted entitlement cannot be deleted, and deleting a draft deletes its grants", () =>
    Effect.gen(function* () {
      const { call, entitlement, license } = yield* vendor
      yield* license({ lifecycleState: "DRAFT" })
      yield* entitlement("NUMBER", "seats")
      yield* call("POST", "/licenses/gold/entitlements", { entitlementSlug: "seats", value: 1 })
      assert.deepStrictEqual(rejectionOf(yield* call("DELETE", "/entitlements/seats")), [
        409,
        "DeleteEntitlement.InUse",
      ])
      assert.strictEqual((yield* call("DELETE", "/licenses/gold")).status, 204)
      assert.strictEqual((yield* call("DELETE", "/entitlements/seats")).status, 204)
    }),
  )

  it.effect("when an entitlement is granted and deleted concurrently, exactly one of both requests succeeds", () =>
    Effect.gen(function* () {
      const { call, entitlement, license } = yield* vendor
      yield* license()
      for (let round = 0; round < 5; round++) {
        const slug = `seats-${round}`
        yield* entitlement("NUMBER", slug)
        const [granted, deleted] = yield* Effect.all(
          [
            call("POST", "/licenses/gold/entitlements", { entitlementSlug: slug, value: 1 }),
            call("DELETE", `/entitlements/${slug}`),
          ],
          { concurrency: "unbounded" },
        )
        assert.include(["201 409", "422 204"], `${granted.status} ${deleted.status}`)
      }
    }),
  )
})
