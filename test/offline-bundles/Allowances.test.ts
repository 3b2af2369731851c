import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { UsageRetention } from "../../src/domains/usage/Retention.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { inDays, iso, openSite, rejection } from "./Site.ts"

const DAY = 86_400

/** A site whose license grants 500 of `exports` a day, and what checks answer about it. */
const openAllowing = Effect.gen(function* () {
  const site = yield* openSite
  const { call, entitlement, grant } = site
  yield* entitlement("exports", { resetPeriod: "DAY", resetAnchor: "CALENDAR" })
  yield* grant("pro", "exports", 500)
  const checked = (more: object, requested = 0) =>
    Effect.map(
      call("POST", "/instances/prod/check", { checks: [{ entitlement: "exports", requested }], ...more }),
      ({ body }) => body.checks[0],
    )
  return {
    ...site,
    allow: (quantity: number, more: object = {}) =>
      site.issue({ allowances: [{ entitlement: "exports", quantity }], ...more }),
    checked,
    /** Usage, remainder and what is held, with an explanation. */
    standing: (at?: string) =>
      Effect.map(checked({ explain: true, ...(at === undefined ? {} : { at }) }), (answer) => [
        answer.usage,
        answer.remaining,
        answer.explanation.held,
      ]),
    consume: (requested: number) => Effect.map(checked({ consume: true }, requested), ({ allowed }) => allowed),
  }
})

layer(TestService.layer, { excludeTestServices: true })("an allowance", (it) => {
  it.effect("is in the bundle, in its record, and in no other request's reach", () =>
    Effect.gen(function* () {
      const { allow, call, checked, consume, path, standing, verified } = yield* openAllowing
      // The check is cached before, with its catalog and then with its answer.
      for (const _ of [1, 2, 3]) assert.strictEqual((yield* checked({})).remaining, 500)
      const answer = yield* allow(100.5)
      assert.strictEqual(answer.status, 201, answer.text)
      const { bundle, ...record } = answer.body
      assert.deepStrictEqual(record.allowances, [{ entitlement: "exports", quantity: 100.5, endedAt: null }])
      assert.deepStrictEqual((yield* call("GET", path)).body.items, [record])
      const { claims } = yield* verified(bundle)
      const { allowance, used } = claims.entitlements[0]
      assert.deepStrictEqual([used, allowance], ["0", "100.5"])

      for (const _ of [1, 2, 3]) assert.strictEqual((yield* checked({})).remaining, 399.5)
      assert.deepStrictEqual(yield* standing(), [0, 399.5, 100.5])
      assert.isFalse(yield* consume(400))
      const usage = "/instances/prod/entitlements/exports/usage"
      const event = { specversion: "1.0", source: "/tests", type: "exports", subject: "prod" }
      const rejected = [
        yield* call("POST", usage, { value: 400 }),
        yield* call("POST", usage, { value: 400, behavior: "set" }),
        yield* call("POST", "/instances/prod/entitlements/exports/reservations", { quantity: 400 }),
        yield* call("POST", "/usage-events", { ...event, id: "400", data: { value: 400 } }),
      ]
      assert.deepStrictEqual(rejected.map(rejection), [
        [409, "ReportUsage.ThresholdExceeded"],
        [409, "ReportUsage.ThresholdExceeded"],
        [409, "Reserve.LimitReached"],
        [422, "ReportUsage.ThresholdExceeded"],
      ])
      assert.isTrue(yield* consume(399))
      assert.deepStrictEqual(yield* standing(), [399, 0.5, 100.5])
      assert.strictEqual(
        (yield* call("POST", "/usage-events", { ...event, id: "1", data: { value: 0.5 } })).status,
        200,
      )
      assert.isFalse(yield* consume(0.1))
      const names = yield* Effect.map(call("GET", "/events?type=OFFLINE_BUNDLE_ISSUED"), ({ body }) => body.items)
      const { instanceId, ...data } = names[0].data
      assert.deepStrictEqual(data, record)
      assert.isString(instanceId)
    }),
  )

  it.effect("is the greatest of the open ones, because the next bundle takes over", () =>
    Effect.gen(function* () {
      const { allow, call, path, standing } = yield* openAllowing
      const { body: first } = yield* allow(100)
      yield* allow(80)
      assert.deepStrictEqual(yield* standing(), [0, 400, 100])
      assert.strictEqual((yield* call("DELETE", `${path}/${first.id}?release=true`)).status, 204)
      assert.deepStrictEqual(yield* standing(), [0, 420, 80])
      yield* allow(120)
      assert.deepStrictEqual(yield* standing(), [0, 380, 120])
      yield* allow(1)
      assert.deepStrictEqual(yield* standing(), [0, 380, 120])
    }),
  )

  it.effect("stays reserved when its bundle is revoked, until it is released", () =>
    Effect.gen(function* () {
      const { allow, call, events, path, standing } = yield* openAllowing
      const { body: bundle } = yield* allow(100)
      const revoke = (query: string) => call("DELETE", `${path}/${bundle.id}${query}`)
      assert.strictEqual((yield* revoke("")).status, 204)
      yield* revoke("?release=false")
      assert.deepStrictEqual(yield* standing(), [0, 400, 100])
      assert.strictEqual((yield* revoke("?release=yes")).body.errors[0].location, "query.release")
      const dry = yield* revoke("?release=true&dryRun=true")
      assert.deepStrictEqual(
        dry.body.events.map(({ type }: { type: string }) => type),
        ["OFFLINE_BUNDLE_REVOKED"],
      )
      assert.deepStrictEqual(yield* standing(), [0, 400, 100])
      yield* revoke("?release=true")
      yield* revoke("?release=true")
      assert.deepStrictEqual(yield* standing(), [0, 500, 0])
      const [allowance] = (yield* call("GET", `${path}/${bundle.id}`)).body.allowances
      assert.isString(allowance.endedAt)
      // Each change has an event, and what changes nothing has none.
      assert.deepStrictEqual(yield* events, [
        ["OFFLINE_BUNDLE_ISSUED", 1],
        ["OFFLINE_BUNDLE_REVOKED", 1],
        ["OFFLINE_BUNDLE_REVOKED", 1],
      ])
    }),
  )

  it.effect("is refused if it does not fit beside usage and reservations, and nothing is stored then", () =>
    Effect.gen(function* () {
      const { allow, call, consume, issued, path, standing } = yield* openAllowing
      yield* consume(150)
      const reservation = "/instances/prod/entitlements/exports/reservations"
      assert.strictEqual((yield* call("POST", reservation, { quantity: 50 })).status, 201)
      const refused = yield* allow(300.1)
      assert.deepStrictEqual(rejection(refused), [409, "IssueOfflineBundle.LimitReached"])
      assert.match(refused.body.detail, /"exports" of "prod" is 500 .* 150 would be used, and 350\.1 held/)
      assert.deepStrictEqual((yield* call("GET", path)).body.items, [])
      assert.deepStrictEqual(yield* standing(), [150, 300, 50])
      assert.strictEqual((yield* allow(300)).status, 201)
      assert.deepStrictEqual(yield* standing(), [150, 0, 350])
      // The next bundle is refused as long as it does not fit, too.
      assert.strictEqual((yield* allow(300)).status, 201)
      assert.strictEqual((yield* allow(301)).status, 409)
      assert.strictEqual((yield* issued()).sequence, 3)
    }),
  )

  it.effect("must fit into what is granted during all of the bundle's life", () =>
    Effect.gen(function* () {
      const { allow, call, entitlement, issue } = yield* openAllowing
      const override = "/instances/prod/entitlements/exports/override"
      const lower = { mode: "SET", value: 60, startsAt: inDays(20), endsAt: inDays(25) }
      assert.isBelow((yield* call("PUT", override, lower)).status, 300)
      const answers = [yield* allow(61), yield* allow(60), yield* allow(500, { ttlSeconds: 19 * DAY, graceSeconds: 0 })]
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [409, 201, 201],
      )
      yield* entitlement("imports")
      const missing = yield* issue({ allowances: [{ entitlement: "imports", quantity: 1 }] })
      assert.deepStrictEqual(rejection(missing), [409, "IssueOfflineBundle.LimitReached"])
      assert.match(missing.body.detail, /does not grant "imports"/)
    }),
  )

  it.effect("holds the same in each period of the bundle's life, and in the last one until usage can be uploaded", () =>
    Effect.gen(function* () {
      const { allow, standing } = yield* openAllowing
      const { body: bundle } = yield* allow(100, { ttlSeconds: 2 * DAY, graceSeconds: DAY })
      const [issued, expires, until] = [bundle.issuedAt, bundle.expiresAt, bundle.usageUntil].map(Date.parse) as [
        number,
        number,
        number,
      ]
      assert.strictEqual(until - expires, 90 * DAY_MS)
      const midnight = Math.floor(issued / DAY_MS) * DAY_MS + DAY_MS
      const free = [0, 500, 0]
      const taken = [0, 400, 100]
      // Three full days later the bundle has expired, in the middle of a period.
      for (const [instant, expected] of [
        [midnight, taken],
        [midnight + DAY_MS, taken],
        [expires - 1, taken],
        [midnight + 3 * DAY_MS - 1, taken],
        [midnight + 3 * DAY_MS, free],
        [until, free],
      ] as const) {
        assert.deepStrictEqual(yield* standing(iso(instant)), expected, iso(instant))
      }
    }),
  )

  it.effect("was held when a check of the past asks for a moment between its issue and its release", () =>
    Effect.gen(function* () {
      const { allow, call, consume, path, sql, standing, organizationId } = yield* openAllowing
      yield* consume(10)
      const { body: bundle } = yield* allow(100)
      yield* call("DELETE", `${path}/${bundle.id}?release=true`)
      const hour = 3_600_000
      const now = Date.now()
      // Moves the instance, its usage and the allowance into the past, as if a few hours had gone by.
      yield* sql`UPDATE instances SET created_at = ${new Date(now - 216 * hour)} WHERE organization_id = ${organizationId}`
      yield* sql`UPDATE offline_allowances SET valid_from = ${new Date(now - 3 * hour)}, ended_at = ${new Date(now - hour)}
        WHERE organization_id = ${organizationId}`
      const held = (at: number) => Effect.map(standing(iso(at)), ([, , third]) => third)
      assert.strictEqual(yield* held(now - 4 * hour), 0)
      assert.strictEqual(yield* held(now - 2 * hour), 100)
      assert.strictEqual(yield* held(now - hour / 2), 0)
    }),
  )

  it.effect("holds a part of what never resets as long as usage can be uploaded", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, issue } = yield* openSite
      yield* entitlement("credits", { resetPeriod: null })
      yield* grant("pro", "credits", 50)
      const { body: bundle, status } = yield* issue({
        ttlSeconds: DAY,
        graceSeconds: 0,
        allowances: [{ entitlement: "credits", quantity: 50 }],
      })
      assert.strictEqual(status, 201)
      const remaining = (at: number) =>
        Effect.map(
          call("POST", "/instances/prod/check", { checks: [{ entitlement: "credits", requested: 0 }], at: iso(at) }),
          ({ body }) => body.checks[0].remaining,
        )
      const until = Date.parse(bundle.usageUntil)
      assert.deepStrictEqual([yield* remaining(until - 1), yield* remaining(until)], [0, 50])
    }),
  )

  it.effect("is refused of what cannot be reserved, with the place and the reason", () =>
    Effect.gen(function* () {
      const { entitlement, grant, issue, organizationId, sql } = yield* openAllowing
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* entitlement("peak", { aggregationMethod: "MAX" })
      yield* entitlement("hits", { aggregationMethod: "COUNT" })
      yield* entitlement("seats", { aggregationMethod: "CONCURRENT" })
      yield* grant("pro", "hits", 10)
      const exports = { entitlement: "exports", quantity: 1 }
      for (const [allowances, place] of [
        [[{ entitlement: "unknown", quantity: 1 }], "body.allowances[0].entitlement"],
        [[exports, { entitlement: "sso", quantity: 1 }], "body.allowances[1].entitlement"],
        [[{ entitlement: "peak", quantity: 1 }], "body.allowances[0].entitlement"],
        [[{ entitlement: "seats", quantity: 1 }], "body.allowances[0].entitlement"],
        [[{ entitlement: "hits", quantity: 1.5 }], "body.allowances[0].quantity"],
        [[exports, exports], "body.allowances[1].entitlement"],
        [[{ entitlement: "exports", quantity: 0 }], "body.allowances[0].quantity"],
        [[{ entitlement: "exports", quantity: -1 }], "body.allowances[0].quantity"],
        [[{ entitlement: "exports", quantity: "5" }], "body.allowances[0].quantity"],
        [[{ entitlement: "exports", quantity: 1e20 }], "body.allowances[0].quantity"],
        [[{ entitlement: "exports" }], "body.allowances[0].quantity"],
        [Array.from({ length: 101 }, () => exports), "body.allowances"],
      ] as const) {
        const refused = yield* issue({ allowances })
        assert.deepStrictEqual([refused.status, refused.body.errors[0].location], [422, place], refused.text)
      }
      assert.strictEqual((yield* issue({ allowances: [{ entitlement: "hits", quantity: 10 }] })).status, 201)
      const [stored] = yield* sql`
        SELECT count(*)::int AS count FROM offline_allowances WHERE organization_id = ${organizationId}`
      assert.deepStrictEqual(stored, { count: 1 })
    }),
  )

  it.effect("goes with its instance, and when usage can no longer be uploaded", () =>
    Effect.gen(function* () {
      const { allow, call, organizationId, sql } = yield* openAllowing
      const { body: bundle } = yield* allow(100)
      const { jobs } = yield* UsageRetention
      const left = Effect.fnUntraced(function* (time: number) {
        yield* Effect.forEach(jobs, ({ step }) => step(new Date(time), 1000))
        const [row] = yield* sql`
          SELECT count(*)::int AS count FROM offline_allowances WHERE organization_id = ${organizationId}`
        return row?.["count"]
      })
      const until = Date.parse(bundle.usageUntil)
      assert.deepStrictEqual([yield* left(until - 1), yield* left(until)], [1, 0])
      yield* allow(100)
      assert.strictEqual((yield* call("DELETE", "/instances/prod")).status, 204)
      assert.strictEqual(yield* left(0), 0)
    }),
  )
})
