import { PgClient } from "@effect/sql-pg"
import { assert, describe, layer } from "@effect/vitest"
import { Arbitrary, BigDecimal, Effect, Schema } from "effect"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import type { ReportAggregation } from "../../src/domains/entitlements/Model.ts"
import { placeText } from "../../src/domains/usage/history/Rules.ts"
import { RollupsRepo } from "../../src/domains/usage/history/RollupsRepo.ts"
import { fold } from "../../src/domains/usage/rules/Aggregation.ts"
import type { UsageEvent } from "../../src/domains/usage/rules/Aggregation.ts"
import { periodAt } from "../../src/domains/usage/rules/Period.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { createShop } from "../instances/Shop.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"
import { dropBefore, newMonths } from "./Months.ts"
import { whyNotPartitioned } from "./partitioned.ts"

// Usage of three months; the first two are dropped. The license starts within a day, so that weeks begin within days too.
const first = Date.UTC(2025, 0, 1)
const licenseStart = new Date(first + 7 * HOUR_MS)
const cutoff = new Date(Date.UTC(2025, 2, 1))
const end = new Date(Date.UTC(2025, 3, 1))

interface Stored extends UsageEvent {
  readonly isVoided: boolean
}

// Some hours are midnight. Some days have several events.
const days = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 88 }))
const hours = Schema.Literals([0, 0, 5, 6, 12, 23])
const values = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 500 }))
const kinds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
const keys = Schema.Literals(["a", "b", "c", "d"])
const rows = Arbitrary.schema(
  Schema.Array(Schema.Tuple([days, hours, values, kinds, keys])).check(Schema.isMinLength(8), Schema.isMaxLength(60)),
)

const meters = aggregationMethods.flatMap((method) =>
  [null, "WEEK" as const].map((resetPeriod) => ({
    method,
    resetPeriod,
    slug: `${method.toLowerCase().replace("_", "-")}-${resetPeriod === null ? "all" : "week"}`,
  })),
)
type Meter = (typeof meters)[number]

const periodOf = ({ resetPeriod }: Meter, at: Date) =>
  periodAt({ resetPeriod, resetAnchor: "LICENSE_START", licenseStart, at }).start

const totalOf = (method: ReportAggregation, events: ReadonlyArray<Stored>) =>
  fold(
    method,
    events.filter(({ isVoided }) => !isVoided),
  )

const openShop = Effect.gen(function* () {
  const shop = yield* createShop
  yield* shop.license("pro")
  yield* shop.customer("Acme")
  const instance = yield* shop.instance("Prod", "acme", "pro", {
    startLicenseDate: licenseStart.toISOString(),
    endLicenseDate: null,
  })
  const ids = new Map<string, string>()
  for (const { method, resetPeriod, slug } of meters) {
    const record = yield* shop.entitlement(slug, {
      aggregationMethod: method,
      ...(resetPeriod === null ? {} : { resetPeriod, resetAnchor: "LICENSE_START" }),
    })
    ids.set(slug, record.id)
    yield* shop.grant("pro", slug, 1000)
  }
  return { ...shop, ids, instanceId: String(instance.id) }
})

/** Stores events after all of them have arrived. Every other total has hours up to its middle. */
const store = Effect.fnUntraced(function* (
  organizationId: OrganizationId,
  instanceId: string,
  entitlementId: string,
  meter: Meter,
  events: ReadonlyArray<Stored>,
) {
  const sql = yield* PgClient.PgClient
  const rollups = yield* RollupsRepo
  const transactions = yield* Transactions
  const byPeriod = Map.groupBy(events, ({ timestamp }) => periodOf(meter, timestamp).getTime())
  for (const [start, own] of byPeriod) {
    const key = { organizationId, instanceId, entitlementId, periodStart: new Date(start) }
    const row = {
      organization_id: organizationId,
      instance_id: instanceId,
      entitlement_id: entitlementId,
      period_start: key.periodStart,
    }
    const { lastAt, latestAt, setAt, sum, value, valueCount } = totalOf(meter.method, own)
    yield* sql`INSERT INTO usage_totals ${sql.insert({
      ...row,
      value: BigDecimal.format(value),
      sum: BigDecimal.format(sum),
      event_count: own.length,
      voided_count: own.filter(({ isVoided }) => isVoided).length,
      value_count: valueCount,
      last_at: lastAt,
      latest_at: latestAt,
      set_at: setAt,
    })}`
    const [one, ...others] = own.map((event, index): Record<string, unknown> => ({
      ...row,
      ordinal: index + 1,
      timestamp: event.timestamp,
      behavior: event.behavior,
      value: BigDecimal.format(event.value),
      unique_key: event.uniqueKey,
      reported_at: event.timestamp,
      reported_by: JSON.stringify({ id: instanceId, name: "test" }),
      voided_at: event.isVoided ? event.timestamp : null,
    }))
    const unique =
      meter.method === "UNIQUE_COUNT" ? own.filter(({ isVoided }) => !isVoided).map(({ uniqueKey }) => uniqueKey) : []
    for (const key of new Set(unique))
      yield* sql`INSERT INTO usage_unique_keys ${sql.insert({ ...row, unique_key: key })}`
    if (one !== undefined) yield* sql`INSERT INTO usage_events ${sql.insert([one, ...others])}`
    if (start % 2 === 0)
      yield* transactions.run(Effect.flatMap(rollups.lock(key), (rolled) => rollups.addNext(key, rolled)))
  }
})

describe.skipIf(whyNotPartitioned !== undefined)(withReason("usage of dropped months", whyNotPartitioned), () => {
  layer(TestService.layer, { excludeTestServices: true })((it) => {
    it.effect.prop(
      "has the same totals, history and answers about the past as before, also when later events are voided",
      { rows },
      ({ rows }) =>
        Effect.gen(function* () {
          yield* newMonths(licenseStart, 3)
          const sql = yield* PgClient.PgClient
          const shop = yield* openShop
          const { organizationId } = shop.tenant
          const events = new Map<string, ReadonlyArray<Stored>>()
          for (const meter of meters) {
            const own = rows.map(([day, hour, value, kind, uniqueKey], index): Stored => ({
              timestamp: new Date(
                first + day * DAY_MS + hour * HOUR_MS + (hour === 0 && index % 2 === 0 ? 0 : index % 3),
              ),
              behavior: kind === 0 && meter.method !== "UNIQUE_COUNT" ? "set" : "append",
              value: BigDecimal.make(BigInt(value), 2),
              uniqueKey,
              isVoided: kind === 1,
            }))
            events.set(meter.slug, own)
            yield* store(organizationId, shop.instanceId, shop.ids.get(meter.slug) ?? "", meter, own)
          }
          const checks = meters.map(({ slug }) => ({ entitlement: slug }))
          const answers = Effect.gen(function* () {
            const found: Record<string, unknown> = {}
            for (let day = 1; day < 90; day += 4) {
              for (const at of [first + day * DAY_MS, first + (day + 1) * DAY_MS - 1]) {
                const { body, status, text } = yield* shop.call("POST", "/instances/prod/check", {
                  at: new Date(at).toISOString(),
                  checks,
                })
                assert.strictEqual(status, 200, text)
                found[new Date(at).toISOString()] = body.checks
              }
            }
            for (const { slug } of meters) {
              for (const bucket of ["DAY", "MONTH"]) {
                const query = `bucket=${bucket}&from=2025-01-01T00:00:00Z&to=${end.toISOString()}`
                const { body, status, text } = yield* shop.call(
                  "GET",
                  `/instances/prod/entitlements/${slug}/usage/history?${query}`,
                )
                assert.strictEqual(status, 200, text)
                found[`${slug} by ${bucket}`] = body.items
              }
            }
            return found
          })
          const before = yield* answers
          assert.strictEqual(yield* dropBefore(cutoff), 2)
          const [left] = yield* sql<{ count: number }>`
          SELECT count(*)::int AS count FROM usage_events WHERE organization_id = ${organizationId} AND timestamp < ${cutoff}`
          assert.strictEqual(left?.count, 0)
          assert.deepStrictEqual(yield* answers, before)

          // Void each event that is left of the total that has the newest one.
          for (const meter of meters) {
            let own = events.get(meter.slug) ?? []
            const at = own.reduce((newest, { timestamp }) => (timestamp > newest ? timestamp : newest), new Date(first))
            const periodStart = periodOf(meter, at)
            own = own.filter(({ timestamp }) => periodOf(meter, timestamp).getTime() === periodStart.getTime())
            for (const [index, event] of own.entries()) {
              if (event.isVoided || event.timestamp < cutoff) continue
              const path = `/instances/prod/entitlements/${meter.slug}/usage/events/${placeText({ periodStart, ordinal: index + 1 })}`
              assert.strictEqual((yield* shop.call("DELETE", path)).status, 204)
              own = own.map((each) => (each === event ? { ...each, isVoided: true } : each))
              const [total] = yield* sql<{ value: string }>`
              SELECT value::text FROM usage_totals WHERE organization_id = ${organizationId}
                AND entitlement_id = ${shop.ids.get(meter.slug) ?? ""} AND period_start = ${periodStart}`
              const plain = (value: BigDecimal.BigDecimal) => BigDecimal.format(BigDecimal.normalize(value))
              assert.strictEqual(
                plain(BigDecimal.fromStringUnsafe(total?.value ?? "")),
                plain(totalOf(meter.method, own).value),
                `${meter.slug} without event ${index + 1}`,
              )
            }
          }
        }),
      { arbitrary: { runs: 4 }, timeout: 240_000 },
    )
  })
})
