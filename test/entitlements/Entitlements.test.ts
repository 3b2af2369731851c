import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Entitlement } from "../../src/domains/entitlements/Model.ts"
import { Page } from "../../src/kernel/contract/Page.ts"
import { TestService } from "../support/TestService.ts"

const apiCalls = { name: "API calls", type: "NUMBER" }
const names = (page: { body: { items: ReadonlyArray<{ name: string }> } }) => page.body.items.map(({ name }) => name)

layer(TestService.layer, { excludeTestServices: true })("entitlements", (it) => {
  it.effect("a number defaults to SUM, no reset period and the CALENDAR anchor", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/entitlements", { token, body: apiCalls })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("location"), "/api/entitlements/api-calls")
      const { id, createdAt, createdBy, ...rest } = created.body
      assert.deepStrictEqual(rest, {
        slug: "api-calls",
        name: "API calls",
        description: null,
        type: "NUMBER",
        aggregationMethod: "SUM",
        resetPeriod: null,
        resetAnchor: "CALENDAR",
        unitSingular: null,
        unitPlural: null,
        saleUnitFactor: null,
        saleUnitSingular: null,
        saleUnitPlural: null,
        displayOrder: 0,
        icon: null,
        userFacing: true,
        warningThresholdPercent: null,
        groupSlugs: [],
        entitlementGroups: [],
        updatedAt: createdAt,
        updatedBy: createdBy,
      })
      assert.match(id, /^[0-9a-f-]{36}$/)
      assert.strictEqual(createdBy.name, "system:platform")
      assert.deepStrictEqual((yield* core("GET", "/entitlements/api-calls", { token })).body, created.body)
    }),
  )

  it.effect("a created entitlement stores all properties", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = {
        name: "Traffic",
        slug: "traffic",
        type: "NUMBER",
        description: "Outgoing",
        aggregationMethod: "MAX",
        resetPeriod: "MONTH",
        resetAnchor: "LICENSE_START",
        unitSingular: "byte",
        unitPlural: "bytes",
        saleUnitFactor: 1_073_741_824.5,
        saleUnitSingular: "GiB",
        saleUnitPlural: "GiB",
        displayOrder: -3,
        icon: "traffic",
        userFacing: false,
        warningThresholdPercent: 80,
      }
      yield* core("POST", "/entitlements", { token, body })
      const read = yield* core("GET", "/entitlements/traffic", { token })
      assert.containSubset(read.body, body)
    }),
  )

  it.effect("an entitlement of another type than NUMBER is not measured", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const created = yield* core("POST", "/entitlements", { token, body: { name: "Single sign-on", type: "BOOLEAN" } })
      assert.strictEqual(created.status, 201)
      assert.containSubset(created.body, { aggregationMethod: null, resetPeriod: null, resetAnchor: null })
      const rejected = yield* core("POST", "/entitlements", {
        token,
        body: { name: "Regions", type: "CONFIG", aggregationMethod: "SUM", resetPeriod: "DAY", resetAnchor: null },
      })
      assert.strictEqual(rejected.status, 422)
      assert.deepStrictEqual(
        rejected.body.errors.map((error: { location: string }) => error.location),
        ["body.aggregationMethod", "body.resetPeriod"],
      )
    }),
  )

  it.effect("properties out of range are rejected, each with its location", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const rejected = yield* core("POST", "/entitlements", {
        token,
        body: {
          ...apiCalls,
          warningThresholdPercent: 101,
          displayOrder: 2 ** 31,
          saleUnitFactor: 0,
          resetPeriod: "EON",
        },
      })
      assert.strictEqual(rejected.status, 422)
      assert.deepStrictEqual(rejected.body.errors.map((error: { location: string }) => error.location).toSorted(), [
        "body.displayOrder",
        "body.resetPeriod",
        "body.saleUnitFactor",
        "body.warningThresholdPercent",
      ])
    }),
  )

  it.effect("a slug is unique within an organization, but not across organizations", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const other = yield* tenant()
      const body = { ...apiCalls, slug: "calls" }
      yield* core("POST", "/entitlements", { token, body })
      const rejected = yield* core("POST", "/entitlements", { token, body })
      assert.strictEqual(rejected.status, 409)
      assert.strictEqual(rejected.body.code, "CreateEntitlement.SlugTaken")
      assert.strictEqual((yield* core("POST", "/entitlements", { token: other.token, body })).status, 201)
    }),
  )

  it.effect("an update keeps omitted properties, clears them on null and rejects changes of the measurement", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const body = { ...apiCalls, description: "Calls", displayOrder: 7, userFacing: false, unitSingular: "call" }
      const created = yield* core("POST", "/entitlements", { token, body })
      const changed = yield* core("PUT", "/entitlements/api-calls", {
        token,
        body: { name: "Requests", description: null, displayOrder: null },
      })
      assert.strictEqual(changed.status, 204)
      assert.strictEqual(changed.text, "")
      const read = yield* core("GET", "/entitlements/api-calls", { token })
      assert.deepStrictEqual(read.body, {
        ...created.body,
        name: "Requests",
        description: null,
        displayOrder: 0,
        updatedAt: read.body.updatedAt,
      })
      for (const immutable of [{ type: "BOOLEAN" }, { slug: "requests" }, { resetPeriod: "DAY" }]) {
        const rejected = yield* core("PUT", "/entitlements/api-calls", { token, body: immutable })
        assert.strictEqual(rejected.status, 422)
        assert.strictEqual(rejected.body.errors[0].location, `body.${Object.keys(immutable)[0]}`)
      }
    }),
  )

  it.effect("entitlements are listed by their display order, then oldest first, page by page", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const [name, displayOrder] of [
        ["a", 5],
        ["b", undefined],
        ["c", -1],
        ["d", 5],
        ["e", 0],
      ] as const) {
        yield* core("POST", "/entitlements", { token, body: { name, type: "BOOLEAN", displayOrder } })
      }
      const first = yield* core("GET", "/entitlements?limit=2", { token })
      assert.deepStrictEqual(names(first), ["c", "b"])
      const second = yield* core("GET", `/entitlements?limit=2&cursor=${first.body.nextCursor}`, { token })
      assert.deepStrictEqual(names(second), ["e", "a"])
      const last = yield* core("GET", `/entitlements?limit=2&cursor=${second.body.nextCursor}`, { token })
      assert.deepStrictEqual(names(last), ["d"])
      assert.deepStrictEqual([last.body.hasMore, last.body.nextCursor], [false, ""])
    }),
  )

  it.effect("a list contains the same records as single reads", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      const bodies = [
        { name: 'Plain "quoted" \u2028 ü', type: "BOOLEAN" },
        {
          name: "Traffic",
          type: "NUMBER",
          saleUnitFactor: 1e-7,
          resetPeriod: "WEEK",
          unitSingular: "byte",
          icon: "a\\b",
        },
        {
          name: "Exact",
          type: "NUMBER",
          saleUnitFactor: 9_007_199_254_740_991,
          userFacing: false,
          description: "\n\t",
        },
      ]
      for (const body of bodies) yield* core("POST", "/entitlements", { token, body })
      for (const name of ["Capacity", "Billing"]) {
        const group = yield* core("POST", "/entitlement-groups", { token, body: { name } })
        const path = `/entitlement-groups/${group.body.slug}/entitlements`
        yield* core("POST", path, { token, body: { entitlementSlug: "traffic" } })
      }
      const list = yield* core("GET", "/entitlements", { token })
      assert.strictEqual(list.headers.get("content-type"), "application/json")
      assert.lengthOf(list.body.items, 3)
      for (const item of list.body.items) {
        const alone = yield* core("GET", `/entitlements/${item.slug}`, { token })
        assert.deepStrictEqual(item, alone.body)
      }
      yield* Schema.decodeUnknownEffect(Schema.toCodecJson(Page(Entitlement)))(list.body)
    }),
  )

  it.effect("every change to an entitlement emits an event", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      yield* core("POST", "/entitlements", { token, body: apiCalls })
      yield* core("PUT", "/entitlements/api-calls", { token, body: { name: "Requests" } })
      const last = yield* core("GET", "/entitlements/api-calls", { token })
      assert.strictEqual((yield* core("DELETE", "/entitlements/api-calls", { token })).status, 204)
      const events = yield* core("GET", "/events", { token })
      assert.deepStrictEqual(
        events.body.items
          .slice(1)
          .map((event: { type: string; data: { name: string } }) => [event.type, event.data.name]),
        [
          ["ENTITLEMENT_CREATED", "API calls"],
          ["ENTITLEMENT_UPDATED", "Requests"],
          ["ENTITLEMENT_DELETED", "Requests"],
        ],
      )
      assert.deepStrictEqual(events.body.items.at(-1).data, last.body)
      for (const [method, body] of [["GET"], ["PUT", {}], ["DELETE"]] as const) {
        const gone = yield* core(method, "/entitlements/api-calls", { token, body })
        assert.deepStrictEqual([gone.status, gone.body.code], [404, "Entitlement.NotFound"])
      }
    }),
  )

  it.effect("an entitlement with usage cannot be deleted", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const { core, tenant } = yield* TestService
      const { organizationId, token } = yield* tenant()
      const post = (path: string, body: object) => core("POST", path, { token, body })
      const entitlement = (yield* post("/entitlements", apiCalls)).body
      yield* post("/licenses", { name: "Gold", type: "PAID" })
      yield* post("/customers", { name: "Customer" })
      const instance = (yield* post("/instances", {
        name: "Instance",
        customerSlug: "customer",
        licenseSlug: "gold",
        startLicenseDate: "2026-01-01T00:00:00Z",
        endLicenseDate: "2099-01-01T00:00:00Z",
      })).body
      yield* Effect.orDie(sql`
        INSERT INTO usage_totals (organization_id, instance_id, entitlement_id, period_start, value, event_count)
        VALUES (${organizationId}, ${instance.id}, ${entitlement.id}, ${new Date(0)}, 1, 1)`)
      const rejected = yield* core("DELETE", "/entitlements/api-calls", { token })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [409, "DeleteEntitlement.InUse"])
      yield* core("DELETE", `/instances/${instance.slug}`, { token })
      assert.strictEqual((yield* core("DELETE", "/entitlements/api-calls", { token })).status, 204)
    }),
  )

  it.effect("an entitlement of another organization is not found, and writing requires write:entitlements", () =>
    Effect.gen(function* () {
      const { core, tenant, tokenWith } = yield* TestService
      const owner = yield* tenant()
      const stranger = yield* tenant()
      yield* core("POST", "/entitlements", { token: owner.token, body: apiCalls })
      for (const [method, body] of [["GET"], ["PUT", { name: "Mine" }], ["DELETE"]] as const) {
        const hidden = yield* core(method, "/entitlements/api-calls", { token: stranger.token, body })
        assert.strictEqual(hidden.status, 404)
      }
      const reader = yield* tokenWith(owner, ["read:entitlements"])
      assert.strictEqual((yield* core("GET", "/entitlements/api-calls", { token: reader })).status, 200)
      const rejected = yield* core("DELETE", "/entitlements/api-calls", { token: reader })
      assert.deepStrictEqual([rejected.status, rejected.body.code], [403, "Auth.MissingScope"])
    }),
  )
})
