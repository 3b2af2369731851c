import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Arbitrary, BigDecimal, Effect, Schema } from "effect"
import { randomUUID } from "node:crypto"
import type { ReportAggregation } from "../../src/domains/entitlements/Model.ts"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import { fold } from "../../src/domains/usage/rules/Aggregation.ts"
import type { UsageEvent } from "../../src/domains/usage/rules/Aggregation.ts"
import { PastRepo } from "../../src/domains/usage/check/PastRepo.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { TestService } from "../support/TestService.ts"
import { organizationIdOf } from "../support/organizationIds.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const MINUTE = 60_000
const start = Date.UTC(2026, 5, 1)
const written = (decimal: BigDecimal.BigDecimal): string => BigDecimal.format(BigDecimal.normalize(decimal))

const minutes = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 }))
const values = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 500 }))
const kinds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
const keys = Schema.Literals(["a", "b", "c", "d"])
const history = Arbitrary.schema(Schema.Array(Schema.Tuple([minutes, values, kinds, keys])))

/** The events of a history, in the order of arrival. Thirds, so that averages have infinitely many digits. */
const eventsOf = (
  rows: ReadonlyArray<readonly [number, number, number, string]>,
  method: ReportAggregation,
): ReadonlyArray<UsageEvent> =>
  rows.map(([minute, value, kind, uniqueKey]) => ({
    timestamp: new Date(start + minute * MINUTE),
    behavior: kind === 0 && method !== "UNIQUE_COUNT" ? "set" : "append",
    value: BigDecimal.make(BigInt(value), 2),
    uniqueKey,
  }))

/** Stores a history after all its events have arrived. */
const stored = Effect.fnUntraced(function* (
  organizationId: OrganizationId,
  method: ReportAggregation,
  events: ReadonlyArray<UsageEvent>,
) {
  const sql = yield* PgClient.PgClient
  const key = { instanceId: randomUUID(), entitlementId: randomUUID(), periodStart: new Date(start), method }
  const row = {
    organization_id: organizationId,
    instance_id: key.instanceId,
    entitlement_id: key.entitlementId,
    period_start: key.periodStart,
  }
  const { eventCount, lastAt, setAt, sum, value, valueCount } = fold(method, events)
  yield* sql`INSERT INTO usage_totals ${sql.insert({
    ...row,
    value: BigDecimal.format(value),
    sum: BigDecimal.format(sum),
    event_count: eventCount,
    value_count: valueCount,
    last_at: lastAt,
    set_at: setAt,
  })}`
  const [first, ...others] = events.map((event, index): Record<string, unknown> => ({
    ...row,
    ordinal: index + 1,
    timestamp: event.timestamp,
    behavior: event.behavior,
    value: BigDecimal.format(event.value),
    unique_key: event.uniqueKey,
    reported_at: new Date(start),
    reported_by: "{}",
  }))
  if (first !== undefined) yield* sql`INSERT INTO usage_events ${sql.insert([first, ...others])}`
  return key
})

layer(TestService.layer, { excludeTestServices: true })("usage up to an instant", (it) => {
  it.effect.prop(
    "is the aggregation of the events up to it, including late, repeated and replacing ones",
    { rows: history },
    ({ rows }) =>
      Effect.gen(function* () {
        const past = yield* PastRepo
        const organizationId = organizationIdOf(randomUUID())
        const histories = aggregationMethods.map((method) => ({ method, events: eventsOf(rows, method) }))
        const keys = yield* Effect.forEach(histories, ({ events, method }) => stored(organizationId, method, events))
        for (const minute of [-1, 0, 3, 6.5, 9, 12]) {
          const at = new Date(start + minute * MINUTE)
          const found = yield* past.usageUntil(organizationId, keys, at)
          assert.strictEqual(found.length, histories.length)
          for (const [index, { events, method }] of histories.entries()) {
            const expected = fold(
              method,
              events.filter(({ timestamp }) => timestamp <= at),
            )
            const used = found.find(({ entitlementId }) => entitlementId === keys[index]?.entitlementId)?.used ?? ""
            const text = `${method} at minute ${minute}`
            assert.strictEqual(written(BigDecimal.fromStringUnsafe(used)), written(expected.value), text)
          }
        }
      }),
    { arbitrary: { runs: 60 }, timeout: 60_000 },
  )

  it.effect("is the total of the period where events were deleted", () =>
    Effect.gen(function* () {
      const [past, sql] = [yield* PastRepo, yield* PgClient.PgClient]
      const organizationId = organizationIdOf(randomUUID())
      const events = eventsOf(
        [
          [1, 100, 1, "a"],
          [2, 200, 1, "a"],
          [9, 400, 1, "a"],
        ],
        "SUM",
      )
      const key = yield* stored(organizationId, "SUM", events)
      const usedAt = (minute: number) =>
        Effect.map(past.usageUntil(organizationId, [key], new Date(start + minute * MINUTE)), ([usage]) =>
          Number(usage?.used),
        )
      assert.strictEqual(yield* usedAt(5), 3)
      yield* sql`DELETE FROM usage_events WHERE organization_id = ${organizationId} AND ordinal = 1`
      assert.strictEqual(yield* usedAt(5), 7)
    }),
  )
})

const figures = ({ body }: { readonly body: { readonly checks: ReadonlyArray<Record<string, unknown>> } }) =>
  body.checks.map(({ limit, reason, remaining, usage }) => [reason, limit, usage, remaining])

/** The present instant, before the next change. */
const instant = Effect.andThen(
  Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5))),
  Effect.sync(() => new Date().toISOString()),
)

layer(TestService.layer, { excludeTestServices: true })("a check of the past", (it) => {
  const opened = Effect.gen(function* () {
    const shop = yield* openMeteredShop
    const checkAt = (at: string, slugs: ReadonlyArray<string> = ["calls"], more: object = {}) =>
      shop.call("POST", "/instances/prod/check", {
        checks: slugs.map((entitlement) => ({ entitlement })),
        at,
        ...more,
      })
    return { ...shop, checkAt, stood: (at: string) => Effect.map(checkAt(at), (answer) => figures(answer)[0]) }
  })

  it.effect("counts usage up to and including the instant, even if it was reported later", () =>
    Effect.gen(function* () {
      const { metered, report, stood } = yield* opened
      yield* metered("calls", 10)
      const at = (minutesAgo: number) => new Date(Date.now() - 3_600_000 - minutesAgo * MINUTE).toISOString()
      const [first, second, third] = [at(30), at(20), at(10)]
      yield* report("calls", { value: 5, timestamp: third })
      yield* report("calls", { value: 1, timestamp: first })
      const before = (text: string) => new Date(Date.parse(text) - 1).toISOString()
      assert.deepStrictEqual(yield* stood(before(first)), ["GRANTED", 10, 0, 10])
      assert.deepStrictEqual(yield* stood(first), ["GRANTED", 10, 1, 9])
      yield* report("calls", { value: 3, timestamp: second })
      assert.deepStrictEqual(yield* stood(before(second)), ["GRANTED", 10, 1, 9])
      assert.deepStrictEqual(yield* stood(second), ["GRANTED", 10, 4, 6])
      assert.deepStrictEqual(yield* stood(third), ["GRANTED", 10, 9, 1])
      yield* report("calls", { value: 2, behavior: "set", timestamp: second })
      assert.deepStrictEqual(yield* stood(second), ["GRANTED", 10, 2, 8])
      assert.deepStrictEqual(yield* stood(before(second)), ["GRANTED", 10, 1, 9])
      assert.deepStrictEqual(yield* stood(new Date(Date.now() + MINUTE).toISOString()), ["GRANTED", 10, 7, 3])
    }),
  )

  it.effect("uses the grants at the instant: raised, lowered, deleted and granted again", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, metered, stood } = yield* opened
      yield* entitlement("calls")
      const never = yield* instant
      yield* metered("seats", 1)
      yield* grant("pro", "calls", 5)
      const five = yield* instant
      yield* call("PUT", "/licenses/pro/entitlements/calls", { value: 8, overagePercent: 25 })
      const eight = yield* instant
      yield* call("PUT", "/licenses/pro/entitlements/calls", { value: 8 })
      yield* call("DELETE", "/licenses/pro/entitlements/calls")
      const taken = yield* instant
      yield* grant("pro", "calls", 3)
      const again = yield* instant
      assert.deepStrictEqual(yield* stood(never), ["NOT_GRANTED", null, 0, null])
      assert.deepStrictEqual(yield* stood(five), ["GRANTED", 5, 0, 5])
      assert.deepStrictEqual(yield* stood(eight), ["GRANTED", 8, 0, 8])
      assert.deepStrictEqual(yield* stood(taken), ["NOT_GRANTED", null, 0, null])
      assert.deepStrictEqual(yield* stood(again), ["GRANTED", 3, 0, 3])
    }),
  )

  it.effect("uses the license version and the dates at the instant, and names the version", () =>
    Effect.gen(function* () {
      const { call, checkAt, grant, license, metered, stood } = yield* opened
      yield* metered("calls", 5)
      yield* license("pro-v2", { familySlug: "pro" })
      yield* grant("pro-v2", "calls", 50)
      const first = yield* instant
      yield* call("PATCH", "/instances/prod", { licenseSlug: "pro-v2" })
      const second = yield* instant
      yield* call("PATCH", "/instances/prod", { endLicenseDate: new Date(Date.parse(second) - 1).toISOString() })
      yield* call("PATCH", "/instances/prod", { description: "No other terms" })
      const third = yield* instant
      const licenseAt = (at: string) =>
        Effect.map(checkAt(at, ["calls"], { explain: true }), ({ body }) => {
          const { family, slug, version } = body.checks[0].explanation.license
          return [body.license, slug, version, family]
        })
      assert.deepStrictEqual(yield* stood(first), ["GRANTED", 5, 0, 5])
      assert.deepStrictEqual(yield* licenseAt(first), ["pro", "pro", "1", "pro"])
      assert.deepStrictEqual(yield* stood(second), ["GRANTED", 50, 0, 50])
      assert.deepStrictEqual(yield* licenseAt(second), ["pro-v2", "pro-v2", "2", "pro"])
      assert.strictEqual((yield* stood(third))?.[0], "LICENSE_EXPIRED")
    }),
  )

  it.effect("finds the usage of a period of the license start at the instant", () =>
    Effect.gen(function* () {
      const { call, metered, report, stood } = yield* opened
      yield* metered("calls", 10)
      yield* report("calls", { value: 4, timestamp: new Date(Date.now() - MINUTE).toISOString() })
      const before = yield* instant
      yield* call("PATCH", "/instances/prod", { startLicenseDate: new Date(Date.now() - 2 * MINUTE).toISOString() })
      assert.deepStrictEqual(yield* stood(before), ["GRANTED", 10, 4, 6])
      assert.deepStrictEqual(yield* stood(yield* instant), ["GRANTED", 10, 0, 10])
    }),
  )

  it.effect("uses the present terms for the time before the instance was created", () =>
    Effect.gen(function* () {
      const { call, checkAt, entitlement, grant, license, metered } = yield* opened
      yield* license("pro-v2", { familySlug: "pro" })
      yield* metered("calls", 5)
      yield* call("PATCH", "/instances/prod", { licenseSlug: "pro-v2" })
      yield* grant("pro-v2", "calls", 7)
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro-v2", "sso", true)
      const answer = yield* checkAt(new Date(Date.now() - 100 * DAY_MS).toISOString(), ["calls", "sso", "none"])
      assert.strictEqual(answer.body.license, "pro-v2")
      assert.deepStrictEqual(figures(answer), [
        ["GRANTED", 7, 0, 7],
        ["GRANTED", null, null, null],
        ["ENTITLEMENT_NOT_FOUND", null, null, null],
      ])
    }),
  )

  it.effect("leaves room for what was reserved at the instant, whatever its state is now", () =>
    Effect.gen(function* () {
      const { call, metered, stood } = yield* opened
      yield* metered("calls", 10)
      const reserve = (quantity: number) =>
        call("POST", "/instances/prod/entitlements/calls/reservations", { quantity, expiresInSeconds: 600 })
      const nothing = yield* instant
      const committed = yield* reserve(3)
      const released = yield* reserve(4)
      const both = yield* instant
      yield* call("POST", `/reservations/${committed.body.id}/commit`, { quantity: 2 })
      const one = yield* instant
      yield* call("DELETE", `/reservations/${released.body.id}`)
      const none = yield* instant
      yield* instant
      assert.deepStrictEqual(yield* stood(nothing), ["GRANTED", 10, 0, 10])
      assert.deepStrictEqual(yield* stood(both), ["GRANTED", 10, 0, 3])
      assert.deepStrictEqual(yield* stood(one), ["GRANTED", 10, 2, 4])
      assert.deepStrictEqual(yield* stood(none), ["GRANTED", 10, 2, 8])
    }),
  )

  it.effect("uses the next license instead of a draft that was deleted since", () =>
    Effect.gen(function* () {
      const { call, license, metered, stood } = yield* opened
      yield* metered("calls", 5)
      yield* license("draft", { familySlug: "pro", lifecycleState: "DRAFT" })
      yield* call("PATCH", "/instances/prod", { licenseSlug: "draft" })
      const tried = yield* instant
      yield* call("PATCH", "/instances/prod", { licenseSlug: "pro" })
      assert.deepStrictEqual(yield* stood(tried), ["NOT_GRANTED", null, 0, null])
      assert.strictEqual((yield* call("DELETE", "/licenses/draft")).status, 204)
      assert.deepStrictEqual(yield* stood(tried), ["GRANTED", 5, 0, 5])
    }),
  )
})
