import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { UsageEntry } from "../../src/domains/usage/ledger/Model.ts"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { daysAgo, openMeteredShop } from "./MeteredShop.ts"

layer(TestService.layer, { excludeTestServices: true })("usage", (it) => {
  it.effect("a report returns the usage after it", () =>
    Effect.gen(function* () {
      const { call, instance, metered, report } = yield* openMeteredShop
      const entitlement = yield* metered("calls", 100)
      const first = yield* report("calls", { value: 0.1, metadata: { region: "eu" } })
      assert.strictEqual(first.status, 200)
      assert.deepStrictEqual(first.body, {
        currentPeriodStart: instance.startLicenseDate,
        currentPeriodEnd: null,
        entitlementId: entitlement.id,
        entitlementName: "calls",
        entitlementSlug: "calls",
        entitlementType: "NUMBER",
        licenseValue: { type: "number", value: 100, event_count: 0 },
        usageValue: { type: "number", value: 0.1, event_count: 1 },
      })
      const second = yield* report("calls", { value: { type: "number", value: 0.2 } })
      assert.deepStrictEqual(second.body.usageValue, { type: "number", value: 0.3, event_count: 2 })
      const read = yield* call("GET", "/instances/prod/entitlements/calls/usage")
      assert.deepStrictEqual([read.status, read.body], [200, second.body])
      const { body } = yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }] })
      assert.deepStrictEqual([body.checks[0].usage, body.checks[0].remaining], [0.3, 99.7])
    }),
  )

  it.effect("every aggregation method counts in its own way", () =>
    Effect.gen(function* () {
      const { metered, report, reported } = yield* openMeteredShop
      for (const [method, expected] of [
        ["SUM", 12],
        ["COUNT", 3],
        ["AVERAGE", 4],
        ["MIN", 2],
        ["MAX", 6],
        ["LATEST", 2],
      ] as const) {
        const slug = method.toLowerCase()
        yield* metered(slug, 1000, { aggregationMethod: method })
        yield* report(slug, { value: 4, timestamp: daysAgo(3) })
        yield* report(slug, { value: 2, timestamp: daysAgo(1) })
        assert.deepStrictEqual(yield* reported(slug, { value: 6, timestamp: daysAgo(2) }), [expected, 3], method)
      }
      yield* metered("users", 1000, { aggregationMethod: "UNIQUE_COUNT" })
      assert.deepStrictEqual(yield* reported("users", { uniqueKey: "ann" }), [1, 1])
      assert.deepStrictEqual(yield* reported("users", { uniqueKey: "bob", value: 7 }), [2, 2])
      assert.deepStrictEqual(yield* reported("users", { uniqueKey: "ann" }), [2, 3])
      assert.deepStrictEqual(yield* reported("users", {}), [422, "body.uniqueKey"])
      assert.deepStrictEqual(yield* reported("users", { uniqueKey: "eve", behavior: "set" }), [422, "body.behavior"])
    }),
  )

  it.effect("a set replaces all earlier usage, also when it arrives late", () =>
    Effect.gen(function* () {
      const { metered, reported } = yield* openMeteredShop
      yield* metered("calls", 1000)
      yield* reported("calls", { value: 10, timestamp: daysAgo(5) })
      yield* reported("calls", { value: 4, timestamp: daysAgo(1) })
      assert.deepStrictEqual(yield* reported("calls", { value: 100, behavior: "set", timestamp: daysAgo(3) }), [104, 3])
      assert.deepStrictEqual(yield* reported("calls", { value: 7, timestamp: daysAgo(4) }), [104, 4])
      assert.deepStrictEqual(yield* reported("calls", { value: 3, behavior: "set" }), [3, 5])
    }),
  )

  it.effect("late usage is counted in the period of its timestamp", () =>
    Effect.gen(function* () {
      const { metered, report, used } = yield* openMeteredShop
      yield* metered("calls", 10, { resetPeriod: "DAY" })
      yield* report("calls", { value: 3 })
      const timestamp = daysAgo(2)
      const { body } = yield* report("calls", { value: 8, timestamp })
      assert.strictEqual(body.currentPeriodStart, `${timestamp.slice(0, 10)}T00:00:00.000Z`)
      assert.strictEqual(body.usageValue.value, 8)
      assert.strictEqual(yield* used("calls"), 3)
    }),
  )

  it.effect("usage is accepted from the last 35 days to the next 5 minutes, within the license dates", () =>
    Effect.gen(function* () {
      const { call, customer, instanceOf, metered, reported } = yield* openMeteredShop
      yield* metered("calls", 1000)
      const at = (timestamp: string) => reported("calls", { value: 1, timestamp })
      assert.deepStrictEqual(yield* at(daysAgo(34.9)), [1, 1])
      assert.deepStrictEqual(yield* at(daysAgo(35.1)), [422, "body.timestamp"])
      assert.deepStrictEqual(yield* at(daysAgo(-4 / 1440)), [2, 2])
      assert.deepStrictEqual(yield* at(daysAgo(-6 / 1440)), [422, "body.timestamp"])
      yield* customer("Short")
      yield* instanceOf("Short", "short", "pro", { startLicenseDate: daysAgo(10), endLicenseDate: daysAgo(5) })
      const short = (timestamp: string) =>
        Effect.map(
          call("POST", "/instances/short/entitlements/calls/usage", { value: 1, timestamp }),
          ({ status }) => status,
        )
      assert.deepStrictEqual(
        [yield* short(daysAgo(11)), yield* short(daysAgo(7)), yield* short(daysAgo(4))],
        [422, 200, 422],
      )
    }),
  )

  it.effect("values are decimals of up to 18 digits, negative only to correct a sum", () =>
    Effect.gen(function* () {
      const { metered, reported } = yield* openMeteredShop
      yield* metered("calls", -1)
      yield* metered("peak", -1, { aggregationMethod: "MAX" })
      yield* metered("hits", -1, { aggregationMethod: "COUNT" })
      assert.deepStrictEqual(yield* reported("calls", { value: 1e17 }), [1e17, 1])
      assert.deepStrictEqual(yield* reported("calls", { value: 1e18 }), [422, "body.value"])
      assert.deepStrictEqual(yield* reported("calls", { value: 1e-19 }), [422, "body.value"])
      assert.deepStrictEqual(yield* reported("calls", { value: -1e17 }), [0, 2])
      assert.deepStrictEqual(yield* reported("calls", { value: -0.1 }), [422, "body.value"])
      assert.deepStrictEqual(yield* reported("calls", { value: -1, behavior: "set" }), [422, "body.value"])
      assert.deepStrictEqual(yield* reported("calls", {}), [422, "body.value"])
      assert.deepStrictEqual(yield* reported("calls", { value: "1" }), [422, "body.value"])
      assert.deepStrictEqual(yield* reported("peak", { value: -1 }), [422, "body.value"])
      assert.deepStrictEqual(yield* reported("hits", {}), [1, 1])
      assert.deepStrictEqual(yield* reported("hits", { value: 9 }), [2, 2])
      assert.deepStrictEqual(yield* reported("hits", { value: 9, behavior: "set" }), [9, 3])
    }),
  )

  it.effect("usage above the limit and its overage is rejected and not stored", () =>
    Effect.gen(function* () {
      const { entitlement, metered, report, reported, used } = yield* openMeteredShop
      yield* metered("hard", 10)
      yield* metered("soft", 10, {}, 20)
      yield* metered("free", -1)
      yield* entitlement("alien")
      assert.deepStrictEqual(yield* reported("hard", { value: 10 }), [10, 1])
      const rejected = yield* report("hard", { value: 0.1 })
      assert.deepStrictEqual(rejection(rejected), { status: 409, code: "ReportUsage.ThresholdExceeded", places: [] })
      assert.strictEqual(yield* used("hard"), 10)
      assert.deepStrictEqual(yield* reported("hard", { value: -3 }), [7, 2])
      assert.deepStrictEqual(yield* reported("hard", { value: 11, behavior: "set" }), [409])
      assert.deepStrictEqual(yield* reported("soft", { value: 12 }), [12, 1])
      assert.deepStrictEqual(yield* reported("soft", { value: 0.01 }), [409])
      assert.deepStrictEqual(yield* reported("free", { value: 1e15 }), [1e15, 1])
      const alien = yield* report("alien", { value: 1 })
      assert.strictEqual(alien.body.code, "ReportUsage.ThresholdExceeded")
      assert.include(alien.body.detail, "does not grant")
    }),
  )

  it.effect("a report that lowers usage is accepted even if the limit is lower than the usage", () =>
    Effect.gen(function* () {
      const { call, metered, reported } = yield* openMeteredShop
      yield* metered("calls", 10)
      yield* reported("calls", { value: 10 })
      yield* call("PUT", "/licenses/pro/entitlements/calls", { value: 5 })
      assert.deepStrictEqual(yield* reported("calls", { value: -1 }), [9, 2])
      assert.deepStrictEqual(yield* reported("calls", { value: 1 }), [409])
      yield* call("DELETE", "/licenses/pro/entitlements/calls")
      assert.deepStrictEqual(yield* reported("calls", { value: -1 }), [8, 3])
      assert.deepStrictEqual(yield* reported("calls", { value: 1 }), [409])
    }),
  )

  it.effect(
    "a report with a transaction id is counted once, also in parallel, and another report with the id is rejected",
    () =>
      Effect.gen(function* () {
        const { metered, report, reported, used } = yield* openMeteredShop
        const sql = yield* PgClient.PgClient
        yield* metered("calls", 100)
        yield* metered("other", 100)
        const body = { value: 5, transactionId: "t1", metadata: { a: 1, b: 2 } }
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => report("calls", body)),
          { concurrency: 8 },
        )
        for (const answer of answers) assert.deepStrictEqual([answer.status, answer.body.usageValue.value], [200, 5])
        yield* report("calls", { value: 1 })
        assert.deepStrictEqual(yield* reported("calls", { ...body, metadata: { b: 2, a: 1 } }), [6, 2])
        const spelled = { ...body, value: { type: "number", value: 5 }, behavior: "append" }
        assert.deepStrictEqual(yield* reported("calls", spelled), [6, 2])
        const another = yield* report("calls", { ...body, value: 6 })
        assert.deepStrictEqual(rejection(another), { status: 409, code: "ReportUsage.TransactionIdReused", places: [] })
        assert.deepStrictEqual(yield* reported("other", { ...body, value: 6 }), [6, 1])
        assert.deepStrictEqual(yield* reported("calls", { value: 1000, transactionId: "t2" }), [409])
        assert.deepStrictEqual(yield* reported("calls", { value: 4, transactionId: "t2" }), [10, 3])
        yield* sql`UPDATE usage_transactions SET expires_at = ${new Date(Date.now() - 1)} WHERE transaction_id = 't1'`
        assert.deepStrictEqual(yield* reported("calls", { ...body, value: 6 }), [16, 4])
        assert.strictEqual(yield* used("calls"), 16)
      }),
  )

  it.effect("parallel reports are all counted up to the cap and never above it", () =>
    Effect.gen(function* () {
      const { metered, report, used } = yield* openMeteredShop
      yield* metered("calls", 60)
      const answers = yield* Effect.all(
        Array.from({ length: 100 }, () => report("calls", { value: 1 })),
        { concurrency: 25 },
      )
      assert.strictEqual(answers.filter(({ status }) => status === 200).length, 60)
      assert.strictEqual(answers.filter(({ status }) => status === 409).length, 40)
      assert.strictEqual(yield* used("calls"), 60)
    }),
  )

  it.effect("a report for another type, or for an unknown instance or entitlement, is rejected", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, metered, reported } = yield* openMeteredShop
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* entitlement("regions", { type: "CONFIG" })
      yield* grant("pro", "sso", true)
      yield* metered("calls", 1)
      assert.deepStrictEqual(yield* reported("sso", { value: 1 }), [422, "path.entitlementSlug"])
      assert.deepStrictEqual(yield* reported("regions", { value: 1 }), [422, "path.entitlementSlug"])
      for (const method of ["GET", "POST"]) {
        const body = method === "POST" ? { value: 1 } : undefined
        const noInstance = yield* call(method, "/instances/none/entitlements/calls/usage", body)
        assert.strictEqual(noInstance.body.code, "Instance.NotFound")
        const noEntitlement = yield* call(method, "/instances/prod/entitlements/none/usage", body)
        assert.strictEqual(noEntitlement.body.code, "Entitlement.NotFound")
      }
      const { body } = yield* call("GET", "/instances/prod/entitlements/sso/usage")
      assert.deepStrictEqual(body.licenseValue, { type: "boolean", value: 1, event_count: 0 })
      assert.deepStrictEqual(body.usageValue, { type: "boolean", value: 0, event_count: 0 })
    }),
  )

  it.effect("the usage of an instance is listed by display order, page by page", () =>
    Effect.gen(function* () {
      const { call, entitlement, metered, report } = yield* openMeteredShop
      yield* metered("third", -1, { displayOrder: 3 })
      yield* metered("first", 5, { displayOrder: 1 })
      yield* metered("second", 5, { displayOrder: 2 })
      yield* entitlement("ungranted", { displayOrder: 0 })
      yield* report("second", { value: 4 })
      const list = "/instances/prod/entitlements/usage"
      const page = yield* call("GET", `${list}?limit=2`)
      const rest = yield* call("GET", `${list}?limit=2&cursor=${page.body.nextCursor}`)
      const items = [...page.body.items, ...rest.body.items]
      assert.deepStrictEqual(
        items.map((entry) => [entry.entitlementSlug, entry.usageValue.value, entry.licenseValue.type]),
        [
          ["first", 0, "number"],
          ["second", 4, "number"],
          ["third", 0, "unlimited"],
        ],
      )
      assert.deepStrictEqual([rest.body.hasMore, rest.body.nextCursor], [false, ""])
      assert.strictEqual((yield* call("GET", "/instances/none/entitlements/usage")).body.code, "Instance.NotFound")
    }),
  )

  it.effect("the usage of a group contains all its entitlements, granted or not", () =>
    Effect.gen(function* () {
      const { call, entitlement, metered, report } = yield* openMeteredShop
      yield* metered("calls", 5, { displayOrder: 2 })
      yield* metered("outside", 5)
      yield* entitlement("seats", { displayOrder: 1 })
      yield* call("POST", "/entitlement-groups", { name: "Capacity" })
      for (const entitlementSlug of ["calls", "seats"]) {
        yield* call("POST", "/entitlement-groups/capacity/entitlements", { entitlementSlug })
      }
      yield* report("calls", { value: 2 })
      const { body, status } = yield* call("GET", "/entitlement-groups/capacity/usage?instance=prod")
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(
        body.map((entry: UsageEntry) => [entry.entitlementSlug, entry.licenseValue, entry.usageValue.value]),
        [
          ["seats", { type: "number", value: 0, event_count: 0 }, 0],
          ["calls", { type: "number", value: 5, event_count: 0 }, 2],
        ],
      )
      const missing = yield* call("GET", "/entitlement-groups/capacity/usage")
      assert.deepStrictEqual(rejection(missing), {
        status: 422,
        code: "Request.ValidationFailed",
        places: ["query.instance"],
      })
      const none = yield* call("GET", "/entitlement-groups/capacity/usage?instance=none")
      assert.strictEqual(none.body.code, "Instance.NotFound")
      const noGroup = yield* call("GET", "/entitlement-groups/none/usage?instance=prod")
      assert.strictEqual(noGroup.body.code, "EntitlementGroup.NotFound")
    }),
  )
})
