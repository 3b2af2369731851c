import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { newSource, openLedgerSite, rewritten } from "./LedgerSite.ts"
import { at, iso, rejection } from "./Site.ts"

const resultsOf = ({ body }: HttpResponse) =>
  body.results.map(({ code, status }: { code?: string; status: string }) => code ?? status)

const typesOf = (events: ReadonlyArray<{ readonly type: string }>) =>
  events.map(({ type }) => type.replace("ENTITLEMENT_USAGE_", ""))

layer(TestService.layer, { excludeTestServices: true })("the lines of a ledger", (it) => {
  it.effect("that cannot count are rejected, each with its reason, and stay in the chain", () =>
    Effect.gen(function* () {
      const { bundle, call, entitlement, eventsOf, instance, issued, issuedAt, lines, metered, upload, used } =
        yield* openLedgerSite
      yield* metered("api-calls", 1_000)
      yield* metered("users", 1_000, { aggregationMethod: "UNIQUE_COUNT" })
      yield* metered("seats", 5, { aggregationMethod: "CONCURRENT" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      const { customerSlug, licenseSlug, startLicenseDate } = instance
      const other = { name: "Other", slug: "other", customerSlug, licenseSlug, startLicenseDate, endLicenseDate: null }
      yield* call("POST", "/instances", other)
      const foreign = yield* issued({}, "other")
      const base = { type: "api-calls", value: 1 }
      const cases: ReadonlyArray<readonly [change: object, code: string, message: string]> = [
        [{ subject: "other" }, "Request.ValidationFailed", '`subject` must be "prod".'],
        [{ subject: "" }, "Request.ValidationFailed", "`subject` is missing or invalid."],
        [{ bundleid: "x" }, "Request.ValidationFailed", "`bundleid` is missing or invalid."],
        [{ bundleid: undefined }, "Request.ValidationFailed", "`bundleid` is missing or invalid."],
        [{ bundleid: foreign.id }, "OfflineBundle.NotFound", `There is no offline bundle "${foreign.id}".`],
        [{ time: undefined }, "Request.ValidationFailed", "`time` is missing or invalid."],
        [{ time: null }, "Request.ValidationFailed", "`time` is missing or invalid."],
        [{ time: "yesterday" }, "Request.ValidationFailed", "`time` is missing or invalid."],
        [{ time: iso(issuedAt - 5 * 60_000 - 1) }, "Request.ValidationFailed", "`time` must be within the life"],
        [{ time: bundle.expiresAt }, "Request.ValidationFailed", "`time` must be within the life"],
        [{ type: "unknown" }, "Entitlement.NotFound", 'There is no entitlement "unknown".'],
        [{ type: "sso" }, "Request.ValidationFailed", "`type` must be an entitlement of the type NUMBER"],
        [{ type: "seats" }, "ReportUsage.NotReportable", "CONCURRENT"],
        [{ type: "users" }, "Request.ValidationFailed", "`data.uniqueKey` is required"],
        [{ data: {} }, "Request.ValidationFailed", "`data.value` required."],
        [{ data: { value: "x" } }, "Request.ValidationFailed", "`data.value` must be a number."],
        [{ data: { value: "1.23456789012345678901" } }, "Request.ValidationFailed", "`data.value` must"],
        [{ data: { value: -1 } }, "Request.ValidationFailed", "would fall below zero"],
        [{ specversion: "0.3" }, "Request.ValidationFailed", "`specversion` is missing or invalid."],
      ]
      const source = newSource()
      const uses = [...cases.map(() => base), base, base, base]
      const last = { time: iso(Date.parse(bundle.expiresAt) - 1) }
      const first = { time: iso(issuedAt - 5 * 60_000) }
      const changes = [...cases.map(([change]) => change), first, last, { bundleid: bundle.id }]
      const written = rewritten(source, yield* lines(source, uses), (event) => ({
        ...event,
        ...changes[Number(event["id"]) - 1],
      }))
      const answer = yield* upload(source, written)
      assert.strictEqual(answer.status, 200, answer.text)
      for (const [index, [change, code, message]] of cases.entries()) {
        const result = answer.body.results[index]
        assert.deepStrictEqual([result.status, result.code], ["rejected", code], JSON.stringify(change))
        assert.include(result.message, message)
      }
      assert.deepStrictEqual(resultsOf(answer).slice(cases.length), ["accepted", "accepted", "accepted"])
      assert.deepStrictEqual([answer.body.accepted, answer.body.lines], [3, written.length])
      assert.deepStrictEqual(yield* used("api-calls"), [3, 3])
      const [{ data }] = yield* eventsOf("OFFLINE_USAGE_UPLOADED")
      assert.deepStrictEqual([data.accepted, data.rejected], [3, cases.length])
      assert.deepStrictEqual(resultsOf(yield* upload(source, written)), Array(written.length).fill("duplicate"))
    }),
  )

  it.effect("count past the cap, with its events, and checks then deny", () =>
    Effect.gen(function* () {
      const { call, eventsOf, lines, metered, upload, used } = yield* openLedgerSite
      yield* metered("api-calls", 100, { warningThresholdPercent: 80, resetPeriod: "MONTH" }, 10)
      const source = newSource()
      const written = yield* lines(
        source,
        [79, 21, 10, 1, 500].map((value) => ({ type: "api-calls", value })),
      )
      const seen: Array<ReadonlyArray<string>> = []
      for (const line of written) {
        assert.deepStrictEqual(resultsOf(yield* upload(source, [line])), ["accepted"])
        const events = yield* eventsOf(
          "ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED",
          "ENTITLEMENT_USAGE_LIMIT_REACHED",
          "ENTITLEMENT_USAGE_CAP_EXCEEDED",
        )
        seen.push(typesOf(events).slice(seen.flat().length))
      }
      assert.deepStrictEqual(seen, [[], ["WARNING_THRESHOLD_REACHED", "LIMIT_REACHED"], [], ["CAP_EXCEEDED"], []])
      assert.deepStrictEqual(yield* used("api-calls"), [611, 5])
      const check = yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: "api-calls" }] })
      assert.deepStrictEqual([check.body.checks[0].allowed, check.body.checks[0].overage], [false, 511])
      const report = yield* call("POST", "/instances/prod/entitlements/api-calls/usage", { value: 1 })
      assert.deepStrictEqual(rejection(report), [409, "ReportUsage.ThresholdExceeded"])
    }),
  )

  it.effect("count whatever has become of license, grant and bundle, and long after 35 days", () =>
    Effect.gen(function* () {
      const { bundle, call, eventsOf, issuedAt, license, lines, metered, path, stored, uploadAfter } =
        yield* openLedgerSite
      yield* metered("api-calls", 5, { resetPeriod: "HOUR" })
      const hour = (days: number) => Math.floor((issuedAt + days * DAY_MS) / HOUR_MS) * HOUR_MS + 1_000
      const source = newSource()
      const written = yield* lines(
        source,
        [1, 2, 3, 4, 5].map((value) => ({ type: "api-calls", value, time: hour(value * 10) })),
      )
      yield* license("basic")
      yield* call("PATCH", "/instances/prod", { licenseSlug: "basic", endLicenseDate: iso(issuedAt + DAY_MS) })
      yield* call("DELETE", `${path}/${bundle.id}`)
      const late = yield* uploadAfter(179, source, written.slice(0, 4))
      assert.deepStrictEqual([late.accepted, late.duplicates], [4, 0])
      assert.deepStrictEqual(
        yield* stored("api-calls"),
        [1, 2, 3, 4].map((value) => [iso(hour(value * 10) - 1_000), `${value}`, `${value}`]),
      )
      // Nothing is granted any more, so nothing is exceeded.
      assert.deepStrictEqual(yield* eventsOf("ENTITLEMENT_USAGE_CAP_EXCEEDED"), [])
      // From `usageUntil` on it is too late, whether the bundle is still stored or not.
      const tooLate = yield* uploadAfter(180, source, written.slice(4))
      assert.deepStrictEqual([tooLate.accepted, tooLate.lines], [0, 5])
      const [result] = tooLate.results
      assert.strictEqual(result?.message, `Usage of the bundle was accepted until ${bundle.usageUntil}.`)
    }),
  )

  it.effect("count by the aggregation of their entitlement, and in the history of usage", () =>
    Effect.gen(function* () {
      const { call, issuedAt, lines, metered, stored, upload, used } = yield* openLedgerSite
      yield* metered("sum", 1_000)
      yield* metered("hits", 1_000, { aggregationMethod: "COUNT" })
      yield* metered("peak", 1_000, { aggregationMethod: "MAX" })
      yield* metered("last", 1_000, { aggregationMethod: "LATEST" })
      yield* metered("users", 1_000, { aggregationMethod: "UNIQUE_COUNT" })
      // What was set online replaces what the site used before, whenever that arrives.
      const set = yield* call("POST", "/instances/prod/entitlements/sum/usage", {
        value: 50,
        behavior: "set",
        timestamp: iso(issuedAt),
      })
      assert.strictEqual(set.status, 200, set.text)
      yield* call("POST", "/instances/prod/entitlements/users/usage", { value: 1, uniqueKey: "anna" })
      const source = newSource()
      const written = yield* lines(source, [
        { type: "sum", value: 7, time: issuedAt - 60_000 },
        { type: "sum", value: 5 },
        { type: "sum", value: -2 },
        { type: "hits", value: 30 },
        { type: "hits", value: 0 },
        { type: "peak", value: 8 },
        { type: "peak", value: 3 },
        { type: "last", value: 8, time: issuedAt + 2_000 },
        { type: "last", value: 3, time: issuedAt + 1_000 },
        { type: "users", value: 1, data: { uniqueKey: "anna" } },
        { type: "users", value: 1, data: { uniqueKey: "bob" } },
        { type: "users", value: 1, data: { uniqueKey: "bob" } },
      ])
      const answer = yield* upload(source, written)
      assert.strictEqual(answer.body.accepted, written.length, answer.text)
      assert.deepStrictEqual(
        [yield* used("sum"), yield* used("hits"), yield* used("peak"), yield* used("last"), yield* used("users")],
        [
          [53, 4],
          [2, 2],
          [8, 2],
          [8, 2],
          [2, 4],
        ],
      )
      // Only what can be reserved can have an allowance.
      const brought = yield* Effect.forEach(["sum", "hits", "peak", "last", "users"], (slug) =>
        Effect.map(stored(slug), ([period]) => period?.[2]),
      )
      assert.deepStrictEqual(brought, ["3", "2", null, null, null])

      const events = yield* call("GET", "/instances/prod/entitlements/hits/usage/events")
      const [event] = events.body.items
      assert.strictEqual(
        (yield* call("DELETE", `/instances/prod/entitlements/hits/usage/events/${event.id}`)).status,
        204,
      )
      assert.deepStrictEqual(yield* used("hits"), [1, 1])
      assert.deepStrictEqual(resultsOf(yield* upload(source, written)), Array(written.length).fill("duplicate"))
      assert.deepStrictEqual(yield* used("hits"), [1, 1])
    }),
  )

  it.effect("are in the periods of their times, in histories and in checks of the past", () =>
    Effect.gen(function* () {
      const { asCaller, bundles, call, lines, metered, stored, upload } = yield* openLedgerSite
      yield* metered("api-calls", 100, { resetPeriod: "DAY" })
      const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS - 60 * DAY_MS
      const { id: bundleId } = yield* at(midnight - DAY_MS)(asCaller(bundles.issue("prod", {})))
      const source = newSource()
      const written = yield* lines(
        source,
        [
          { value: 1, time: midnight - 1 },
          { value: 2, time: midnight },
          { value: 4, time: midnight + HOUR_MS },
          { value: 8, time: midnight + DAY_MS },
        ].map((use) => ({ type: "api-calls", bundleId, ...use })),
      )
      const answer = yield* upload(source, written)
      assert.strictEqual(answer.body.accepted, 4, answer.text)
      assert.deepStrictEqual(yield* stored("api-calls"), [
        [iso(midnight - DAY_MS), "1", "1"],
        [iso(midnight), "6", "6"],
        [iso(midnight + DAY_MS), "8", "8"],
      ])
      const range = `from=${iso(midnight - DAY_MS)}&to=${iso(midnight + 2 * DAY_MS)}`
      const history = yield* call("GET", `/instances/prod/entitlements/api-calls/usage/history?bucket=DAY&${range}`)
      assert.deepStrictEqual(
        history.body.items.map((bucket: Record<string, number>) => [bucket["value"], bucket["event_count"]]),
        [
          [1, 1],
          [6, 2],
          [8, 1],
        ],
      )
      const usageAt = Effect.fnUntraced(function* (time: number) {
        const checks = [{ entitlement: "api-calls" }]
        const { body } = yield* call("POST", "/instances/prod/check", { checks, at: iso(time) })
        return [body.checks[0].usage, body.checks[0].currentPeriodStart]
      })
      assert.deepStrictEqual(yield* usageAt(midnight - 1), [1, iso(midnight - DAY_MS)])
      assert.deepStrictEqual(yield* usageAt(midnight + HOUR_MS - 1), [2, iso(midnight)])
      assert.deepStrictEqual(yield* usageAt(midnight + HOUR_MS), [6, iso(midnight)])
    }),
  )

  it.effect("that correct usage need another credential than a license key, which can upload everything else", () =>
    Effect.gen(function* () {
      const { call, lines, metered, upload, used } = yield* openLedgerSite
      const { core } = yield* TestService
      yield* metered("api-calls", 1_000)
      const { body: key } = yield* call("POST", "/instances/prod/keys", { name: "on site" })
      const source = newSource()
      const written = yield* lines(source, [
        { type: "api-calls", value: 10 },
        { type: "api-calls", value: -4 },
        { type: "api-calls", value: 1 },
      ])
      const onSite = (some: ReadonlyArray<string>) =>
        core("POST", "/instances/prod/offline-usage", { token: key.token, body: { source, lines: some } })
      assert.deepStrictEqual(resultsOf(yield* onSite(written.slice(0, 1))), ["accepted"])
      const denied = yield* onSite(written)
      assert.deepStrictEqual([denied.status, denied.body.code], [403, "Auth.MissingScope"])
      assert.deepStrictEqual(yield* used("api-calls"), [10, 1])
      // Nothing of it was stored: the vendor uploads it, and the site goes on.
      assert.deepStrictEqual(resultsOf(yield* upload(source, written.slice(0, 2))), ["duplicate", "accepted"])
      assert.deepStrictEqual(resultsOf(yield* onSite(written)), ["duplicate", "duplicate", "accepted"])
      assert.deepStrictEqual(yield* used("api-calls"), [7, 3])
    }),
  )
})
