/** Instants at the edges of the years 1 to 9999: no answer contains one beyond them. */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TermNotices } from "../../src/domains/instances/terms/Service.ts"
import { verifyBundle } from "../../src/offline/index.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { createShop, rejection } from "./Shop.ts"

const LAST = "9999-12-31T23:59:59.999Z"
const start = { startLicenseDate: "2025-01-01T00:00:00.000Z" }

const places = (answer: HttpResponse) => {
  const { code, places, status } = rejection(answer)
  return [status, code, ...places]
}

const invalidAt = (...locations: ReadonlyArray<string>) => [422, "Request.ValidationFailed", ...locations]

const openShop = Effect.gen(function* () {
  const shop = yield* createShop
  yield* shop.license("pro")
  yield* shop.license("patient", { graceDays: 30 })
  yield* shop.customer("Acme")
  const { call } = shop
  const create = (more: object) =>
    call("POST", "/instances", { name: "i", customerSlug: "acme", licenseSlug: "pro", ...start, ...more })
  return { ...shop, create, patch: (slug: string, body: object) => call("PATCH", `/instances/${slug}`, body) }
})

layer(TestService.layer, { excludeTestServices: true })("a grace period that passes the year 9999", (it) => {
  it.effect("is rejected at the days, the end or the license of the request that causes it", () =>
    Effect.gen(function* () {
      const { call, create, patch } = yield* openShop
      assert.deepStrictEqual(
        places(yield* create({ endLicenseDate: LAST, graceDays: 365 })),
        invalidAt("body.graceDays"),
      )
      assert.deepStrictEqual(
        places(yield* create({ endLicenseDate: "9999-12-01T00:00:00Z", graceDays: 31 })),
        invalidAt("body.graceDays"),
      )
      const byLicense = { endLicenseDate: "9999-12-15T00:00:00Z", licenseSlug: "patient" }
      assert.deepStrictEqual(places(yield* create(byLicense)), invalidAt("body.endLicenseDate"))

      assert.strictEqual(
        (yield* create({ slug: "thirty", endLicenseDate: "9999-12-01T00:00:00Z", graceDays: 30 })).status,
        201,
      )
      assert.strictEqual((yield* create({ slug: "last", endLicenseDate: LAST })).status, 201)
      assert.strictEqual((yield* create({ slug: "own", ...byLicense, graceDays: 0 })).status, 201)
      assert.strictEqual((yield* create({ slug: "never", endLicenseDate: null, graceDays: 365 })).status, 201)

      assert.deepStrictEqual(places(yield* patch("last", { graceDays: 1 })), invalidAt("body.graceDays"))
      assert.deepStrictEqual(places(yield* patch("never", { endLicenseDate: LAST })), invalidAt("body.endLicenseDate"))
      assert.deepStrictEqual(places(yield* patch("last", { licenseSlug: "patient" })), invalidAt("body.licenseSlug"))
      assert.deepStrictEqual(places(yield* patch("own", { graceDays: null })), invalidAt("body.graceDays"))
      const { body: read } = yield* call("GET", "/instances/thirty")
      const moved = yield* patch("thirty", { ...read, endLicenseDate: "9999-12-02T00:00:00Z" })
      assert.deepStrictEqual(places(moved), invalidAt("body.endLicenseDate"))
      const together = yield* patch("last", { endLicenseDate: "9999-01-01T00:00:00Z", graceDays: 30 })
      assert.strictEqual(together.status, 200, together.text)
    }),
  )

  it.effect("is rejected where a license or a migration gives more days", () =>
    Effect.gen(function* () {
      const { call, create } = yield* openShop
      yield* create({ slug: "last", endLicenseDate: LAST })
      yield* create({ slug: "early", endLicenseDate: "2099-01-01T00:00:00Z" })
      const days = (graceDays: number) => call("PUT", "/licenses/pro", { graceDays })
      assert.deepStrictEqual(places(yield* days(1)), invalidAt("body.graceDays"))
      const migrate = (body: object) => call("POST", "/licenses/pro/migrations", { at: LAST, ...body })
      assert.deepStrictEqual(places(yield* migrate({ toLicenseSlug: "patient" })), invalidAt("body.toLicenseSlug"))
      assert.deepStrictEqual(
        places(yield* migrate({ toLicenseFamilySlug: "patient", instances: ["early", "last"] })),
        invalidAt("body.toLicenseFamilySlug"),
      )
      assert.strictEqual((yield* migrate({ toLicenseSlug: "patient", instances: ["early"] })).status, 202)
      yield* call("PATCH", "/instances/last", { graceDays: 0 })
      assert.strictEqual((yield* days(365)).status, 204)
    }),
  )

  it.effect("rejects the rows of an import that cause it", () =>
    Effect.gen(function* () {
      const { call } = yield* openShop
      const row = { customerSlug: "acme", licenseSlug: "pro", ...start, endLicenseDate: LAST }
      const rows = [
        { name: "i1", slug: "i1", ...row, graceDays: 1 },
        { name: "i2", slug: "i2", ...row },
      ]
      const { body } = yield* call("POST", "/imports", { kind: "instances", rows })
      assert.deepStrictEqual(
        body.results.map(({ errors, status }: { status: string; errors?: ReadonlyArray<{ location: string }> }) => [
          status,
          ...(errors ?? []).map(({ location }) => location.replace(/^.*\./, "")),
        ]),
        [["rejected", "graceDays"], ["created"]],
      )
    }),
  )

  it.effect("ends with that year if an earlier release stored it: bundles, checks and notices go on", () =>
    Effect.gen(function* () {
      const { call, create, tenant } = yield* openShop
      const service = yield* TestService
      const sql = yield* PgClient.PgClient
      yield* create({ slug: "last", endLicenseDate: LAST })
      yield* sql`UPDATE instances SET grace_days = 365 WHERE organization_id = ${tenant.organizationId} AND slug = 'last'`
      const { body: issued } = yield* call("POST", "/instances/last/offline-bundles", {})
      const { body: keys } = yield* service.core("GET", `/offline/${tenant.organizationId}/keys`)
      const answer = yield* Effect.promise(() =>
        verifyBundle(issued.bundle, { keys, issuer: `urn:keyshelf:organization:${tenant.organizationId}` }),
      )
      assert.strictEqual(answer.claims?.license.end, LAST, JSON.stringify(answer))
      assert.strictEqual(answer.status, "VALID")

      const check = (at: string) =>
        call("POST", "/instances/last/check", { checks: [{ entitlement: "none" }], at, explain: true })
      const { body: ended } = yield* check(LAST)
      assert.deepStrictEqual([ended.graceEndsAt, ended.at], [null, LAST])
      const { body: before } = yield* check("9999-12-31T23:59:59.998Z")
      assert.strictEqual(before.graceEndsAt, null)
      assert.notInclude(JSON.stringify([ended, before]), "+0")

      // What does not change the term is still possible.
      assert.strictEqual((yield* call("PATCH", "/instances/last", { name: "Renamed" })).status, 200)
      const { body: record } = yield* call("GET", "/instances/last")
      assert.strictEqual((yield* call("PATCH", "/instances/last", { ...record, name: "Again" })).status, 200)
      yield* sql`UPDATE instances SET end_license_date = '2026-01-01' WHERE organization_id = ${tenant.organizationId} AND slug = 'last'`
      yield* sql`UPDATE instances SET end_license_date = ${new Date(LAST)} WHERE organization_id = ${tenant.organizationId} AND slug = 'last'`
      yield* (yield* TermNotices).emitDue
      const due = yield* sql<{ due: Date }>`
        SELECT due_at AS due FROM term_schedules WHERE organization_id = ${tenant.organizationId}`
      assert.isTrue(due.every((row) => row.due.getUTCFullYear() <= 9999))
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("a request about the edges of the years 1 to 9999", (it) => {
  it.effect("is rejected if a usage period or a bucket passes them, and answered if none does", () =>
    Effect.gen(function* () {
      const { call, create, entitlement, grant } = yield* openShop
      yield* create({ slug: "first", startLicenseDate: "0001-01-15T12:00:00Z", endLicenseDate: null })
      for (const resetPeriod of ["HOUR", "DAY", "WEEK", "MONTH", "YEAR"]) {
        for (const resetAnchor of ["CALENDAR", "LICENSE_START"]) {
          const slug = `${resetPeriod}-${resetAnchor}`.toLowerCase().replace("_", "-")
          yield* entitlement(slug, { resetPeriod, resetAnchor })
          yield* grant("pro", slug, 10)
        }
      }
      yield* entitlement("lifetime", {})
      yield* grant("pro", "lifetime", 10)
      const check = (slug: string, at: string) =>
        call("POST", "/instances/first/check", { checks: [{ entitlement: slug }], at, explain: true })
      const bounds = (slug: string, at: string) =>
        Effect.map(check(slug, at), (answer) =>
          answer.status === 200
            ? [answer.body.checks[0].currentPeriodStart, answer.body.checks[0].currentPeriodEnd]
            : places(answer),
        )
      const first = "0001-01-01T00:00:00Z"
      for (const slug of [
        "hour-calendar",
        "day-license-start",
        "week-license-start",
        "month-calendar",
        "year-calendar",
      ]) {
        assert.deepStrictEqual(yield* bounds(slug, LAST), invalidAt("body.at"), slug)
      }
      for (const slug of ["day-license-start", "week-license-start", "month-license-start", "year-license-start"]) {
        assert.deepStrictEqual(yield* bounds(slug, first), invalidAt("body.at"), slug)
      }
      assert.deepStrictEqual(yield* bounds("lifetime", LAST), ["0001-01-15T12:00:00.000Z", null])
      assert.deepStrictEqual(yield* bounds("month-calendar", first), [
        "0001-01-01T00:00:00.000Z",
        "0001-02-01T00:00:00.000Z",
      ])
      assert.deepStrictEqual(yield* bounds("month-license-start", "9999-12-15T11:59:59.999Z"), [
        "9999-11-15T12:00:00.000Z",
        "9999-12-15T12:00:00.000Z",
      ])
      const both = yield* call("POST", "/instances/first/check", {
        checks: [{ entitlement: "lifetime" }, { entitlement: "year-calendar" }],
        at: LAST,
      })
      assert.deepStrictEqual(places(both), invalidAt("body.at"))

      const history = (from: string, to: string, bucket: string) =>
        Effect.map(
          call("GET", `/instances/first/entitlements/lifetime/usage/history?from=${from}&to=${to}&bucket=${bucket}`),
          (answer) =>
            answer.status === 200
              ? [answer.body.items.length, answer.body.items[0].start, answer.body.items.at(-1).end]
              : places(answer),
        )
      assert.deepStrictEqual(yield* history("9999-12-30T00:00:00Z", LAST, "DAY"), invalidAt("query.to"))
      assert.deepStrictEqual(
        yield* history("9999-01-30T00:00:00Z", "9999-12-01T00:00:00.001Z", "MONTH"),
        invalidAt("query.to"),
      )
      assert.deepStrictEqual(yield* history("9999-11-30T00:00:00Z", "9999-12-01T00:00:00Z", "MONTH"), [
        1,
        "9999-11-01T00:00:00.000Z",
        "9999-12-01T00:00:00.000Z",
      ])
      assert.deepStrictEqual(yield* history("0099-02-03T00:00:00Z", "0100-01-02T00:00:00Z", "MONTH"), [
        12,
        "0099-02-01T00:00:00.000Z",
        "0100-02-01T00:00:00.000Z",
      ])
      const voided = yield* call("DELETE", "/instances/first/entitlements/lifetime/usage/events/2hu3abdhc0-1")
      assert.deepStrictEqual(places(voided), [404, "UsageEvent.NotFound"])
    }),
  )
})
