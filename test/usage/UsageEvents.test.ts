import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { BigDecimal, Effect } from "effect"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import type { ReportAggregation } from "../../src/domains/entitlements/Model.ts"
import { RollupsRepo } from "../../src/domains/usage/history/RollupsRepo.ts"
import { Rollups } from "../../src/domains/usage/history/Rollups.ts"
import { fold } from "../../src/domains/usage/rules/Aggregation.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"
import { randomIntegers } from "./RandomGenerator.ts"

const HOUR = 3_600_000
const iso = (millis: number) => new Date(millis).toISOString()

/** The start of an hour, two days ago. */
const base = Math.floor(Date.now() / HOUR) * HOUR - 48 * HOUR

interface Reported {
  readonly id: string
  readonly at: number
  readonly behavior: "append" | "set"
  readonly value: number
  readonly uniqueKey: string
  voided: boolean
}

const decimal = (value: number) => BigDecimal.fromNumberUnsafe(value)

/** The total by the definition: the fold of the events that are not voided, in the order of arrival. */
const oracle = (method: ReportAggregation, events: ReadonlyArray<Reported>) => {
  const total = fold(
    method,
    events
      .filter(({ voided }) => !voided)
      .map(({ at, behavior, uniqueKey, value }) => ({
        timestamp: new Date(at),
        behavior,
        value: decimal(value),
        uniqueKey,
      })),
  )
  return [BigDecimal.toNumberUnsafe(total.value), total.eventCount]
}

/** The buckets by their definition, told without totals and hours. */
const bucketOracle = (method: ReportAggregation, all: ReadonlyArray<Reported>, start: number, end: number) => {
  const events = all.filter(({ voided }) => !voided).toSorted((one, other) => one.at - other.at)
  const newest = events.findLastIndex(({ behavior }) => behavior === "set")
  const counting = events.slice(Math.max(0, newest)).filter(({ at }) => at >= start && at < end)
  const own = events.filter(({ at }) => at >= start && at < end)
  const values = counting.map(({ value }) => value)
  const sum = values.reduce((total, value) => total + value, 0)
  const value = {
    SUM: sum,
    COUNT: counting.reduce((total, { behavior, value }) => total + (behavior === "set" ? value : 1), 0),
    AVERAGE: values.length === 0 ? 0 : sum / values.length,
    MIN: values.length === 0 ? 0 : Math.min(...values),
    MAX: values.length === 0 ? 0 : Math.max(...values),
    LATEST: values.at(-1) ?? 0,
    UNIQUE_COUNT: new Set(own.map(({ uniqueKey }) => uniqueKey)).size,
  }[method]
  return { value, event_count: own.length }
}

/** Adds all events of an organization to the hours of their totals, however few they are. */
const rollUp = Effect.fnUntraced(function* (organizationId: OrganizationId) {
  const sql = yield* PgClient.PgClient
  const repo = yield* RollupsRepo
  const transactions = yield* Transactions
  const keys = yield* sql<{ instanceId: string; entitlementId: string; periodStart: Date }>`
    SELECT instance_id AS "instanceId", entitlement_id AS "entitlementId", period_start AS "periodStart"
    FROM usage_totals WHERE organization_id = ${organizationId}`
  for (const key of keys) {
    const rollup = { ...key, organizationId }
    yield* transactions.run(Effect.flatMap(repo.lock(rollup), (rolledTo) => repo.addNext(rollup, rolledTo)))
  }
})

const openShop = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const path = (slug: string) => `/instances/prod/entitlements/${slug}/usage`
  const events = (slug: string, query = "") =>
    Effect.map(shop.call("GET", `${path(slug)}/events${query}`), ({ body }) => body.items)
  const history = (slug: string, bucket: string, from: number, to: number) =>
    shop.call("GET", `${path(slug)}/history?bucket=${bucket}&from=${iso(from)}&to=${iso(to)}`)
  const usage = (slug: string) =>
    Effect.map(shop.call("GET", path(slug)), ({ body }) => [body.usageValue.value, body.usageValue.event_count])
  const voidEvent = (slug: string, id: string) => shop.call("DELETE", `${path(slug)}/events/${id}`)
  return { ...shop, events, history, path, usage, voidEvent }
})

layer(TestService.layer, { excludeTestServices: true })("the events of usage", (it) => {
  it.effect("are listed newest first, with where they come from", () =>
    Effect.gen(function* () {
      const { call, events, metered, path, report, tenant } = yield* openShop
      const { core } = yield* TestService
      yield* metered("calls", 1000)
      yield* report("calls", { value: 2.5, timestamp: iso(base + HOUR), transactionId: "t1", metadata: { job: "a" } })
      yield* report("calls", { value: 1, timestamp: iso(base) })
      yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: "calls", requested: 3 }], consume: true })
      const event = (id: string) => ({
        specversion: "1.0",
        id,
        source: "/meter",
        type: "calls",
        subject: "prod",
        time: iso(base + 2 * HOUR),
        data: { value: 4 },
      })
      yield* call("POST", "/usage-events", event("e1"))
      yield* core("POST", "/usage-events", {
        token: tenant.token,
        headers: { "content-type": "application/cloudevents-batch+json", "idempotency-key": "k" },
        body: [event("e2")],
      })
      const all = yield* events("calls")
      assert.deepStrictEqual(
        all.map(({ source, timestamp, transactionId, value }: Record<string, unknown>) => [
          value,
          transactionId,
          source,
          value === 3 ? null : Date.parse(String(timestamp)) - base,
        ]),
        [
          [3, null, null, null],
          [4, "e2", "/meter", 2 * HOUR],
          [4, "e1", "/meter", 2 * HOUR],
          [2.5, "t1", null, HOUR],
          [1, null, null, 0],
        ],
      )
      assert.deepStrictEqual(all[3].metadata, { job: "a" })
      assert.isNull(all[0].voidedAt)
      const some = yield* events("calls", `?since=${iso(base + 1)}&until=${iso(base + 2 * HOUR)}`)
      assert.deepStrictEqual(
        some.map(({ value }: { value: number }) => value),
        [2.5],
      )
      const first = yield* call("GET", `${path("calls")}/events?limit=2`)
      const second = yield* call("GET", `${path("calls")}/events?limit=2&cursor=${first.body.nextCursor}`)
      const third = yield* call("GET", `${path("calls")}/events?limit=2&cursor=${second.body.nextCursor}`)
      assert.deepStrictEqual([...first.body.items, ...second.body.items, ...third.body.items], all)
      assert.isFalse(third.body.hasMore)
    }),
  )

  for (const method of aggregationMethods) {
    it.effect(
      `of a ${method} are voided with exactly what the others add up to, in totals, answers of the past and buckets`,
      () =>
        Effect.gen(function* () {
          const { call, entitlement, events, grant, history, report, tenant, usage, voidEvent } = yield* openShop
          for (const seed of [1, 2, 3]) {
            const slug = `m${seed}`
            const random = randomIntegers(seed * 17 + aggregationMethods.indexOf(method))
            yield* entitlement(slug, { aggregationMethod: method })
            yield* grant("pro", slug, -1)
            const reported: Array<Reported> = []
            const compare = Effect.fnUntraced(function* (what: string) {
              assert.deepStrictEqual(yield* usage(slug), oracle(method, reported), `${what} of seed ${seed}`)
              const hours = yield* history(slug, "HOUR", base, base + 8 * HOUR)
              assert.strictEqual(hours.status, 200, hours.text)
              assert.deepStrictEqual(
                hours.body.items.map(({ event_count, value }: { event_count: number; value: number }) => ({
                  value: Math.round(value * 1e9) / 1e9,
                  event_count,
                })),
                Array.from({ length: 8 }, (_, hour) => {
                  const start = base + hour * HOUR
                  const bucket = bucketOracle(method, reported, start, start + HOUR)
                  return { ...bucket, value: Math.round(bucket.value * 1e9) / 1e9 }
                }),
                `${what} of seed ${seed}`,
              )
              if (method !== "SUM" && method !== "COUNT") return
              const days = yield* history(slug, "DAY", base, base + 8 * HOUR)
              const sum = days.body.items.reduce((total: number, { value }: { value: number }) => total + value, 0)
              assert.strictEqual(sum, oracle(method, reported)[0])
            })
            for (let step = 0; step < 24; step++) {
              const action = random(10)
              const live = reported.filter(({ voided }) => !voided)
              const chosen = live[random(Math.max(1, live.length))]
              if (action < 3 && chosen !== undefined) {
                const gone = yield* voidEvent(slug, chosen.id)
                assert.strictEqual(gone.status, 204, gone.text)
                chosen.voided = true
                yield* compare(`step ${step}`)
              } else if (action === 3) {
                yield* rollUp(tenant.organizationId)
                yield* compare(`rolled step ${step}`)
              } else {
                const behavior = method !== "UNIQUE_COUNT" && random(6) === 0 ? "set" : "append"
                const event = {
                  at: base + random(8) * HOUR + random(4) * 60_000,
                  behavior,
                  value: random(50),
                  uniqueKey: `key ${random(5)}`,
                } as const
                const sent = yield* report(slug, {
                  value: event.value,
                  behavior,
                  timestamp: iso(event.at),
                  uniqueKey: event.uniqueKey,
                  transactionId: `t${step}`,
                })
                assert.strictEqual(sent.status, 200, sent.text)
                const [own] = (yield* events(slug, "?limit=200")).filter(
                  ({ transactionId }: { transactionId: string }) => transactionId === `t${step}`,
                )
                reported.push({ ...event, id: own.id, voided: false })
              }
            }
            yield* compare("the end")
            const at = base + 4 * HOUR
            const past = yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: slug }], at: iso(at) })
            assert.strictEqual(
              past.body.checks[0].usage,
              oracle(
                method,
                reported.filter((event) => event.at <= at),
              )[0],
            )
          }
        }),
      120_000,
    )
  }

  it.effect(
    "have ids that are unique in the organization, so that no id voids another instance's or entitlement's event",
    () =>
      Effect.gen(function* () {
        const { call, events, metered, report, usage, voidEvent } = yield* openShop
        const { body: prod } = yield* call("GET", "/instances/prod")
        const { customerSlug, licenseSlug, startLicenseDate } = prod
        yield* call("POST", "/instances", {
          name: "Other",
          slug: "other",
          customerSlug,
          licenseSlug,
          startLicenseDate,
          endLicenseDate: null,
        })
        yield* metered("calls", 100)
        yield* metered("jobs", 100)
        for (const slug of ["calls", "jobs"]) yield* report(slug, { value: 5 })
        yield* call("POST", "/instances/other/entitlements/calls/usage", { value: 7 })
        const [own] = (yield* events("calls")) as ReadonlyArray<{ id: string }>
        const [job] = (yield* events("jobs")) as ReadonlyArray<{ id: string }>
        const { body: listed } = yield* call("GET", "/instances/other/entitlements/calls/usage/events")
        const foreign = String(listed.items[0].id)
        assert.lengthOf(new Set([own?.id, job?.id, foreign]), 3)
        for (const id of [
          foreign,
          job?.id ?? "",
          `${own?.id}0`,
          `${own?.id}`.toUpperCase(),
          foreign.replace(/^[^-]*/, "0"),
        ]) {
          const refused = yield* voidEvent("calls", id)
          assert.deepStrictEqual([refused.status, refused.body.code], [404, "UsageEvent.NotFound"], id)
        }
        assert.deepStrictEqual(yield* usage("calls"), [5, 1])
        // An id that the release before returned names an event of the path's instance and entitlement.
        const before = own?.id.replace(/-[^-]*$/, "") ?? ""
        assert.strictEqual((yield* voidEvent("calls", before)).status, 204)
        assert.strictEqual((yield* voidEvent("calls", own?.id ?? "")).status, 404)
      }),
  )

  it.effect("that are voided stay listed, keep their ids taken, and tell it once", () =>
    Effect.gen(function* () {
      const { call, entitlement, events, grant, metered, report, tenant, usage, voidEvent } = yield* openShop
      const { core, tokenWith } = yield* TestService
      yield* metered("calls", 10)
      const body = { value: 7, transactionId: "t1" }
      yield* report("calls", body)
      const [event] = yield* events("calls")
      const product = yield* tokenWith(tenant, ["write:instances"])
      const path = `/instances/prod/entitlements/calls/usage/events/${event.id}`
      assert.strictEqual((yield* core("DELETE", path, { token: product })).body.code, "Auth.MissingScope")
      assert.strictEqual((yield* voidEvent("calls", event.id)).status, 204)
      assert.deepStrictEqual(yield* usage("calls"), [0, 0])
      // There is room again, but not for the same report.
      assert.strictEqual((yield* report("calls", body)).status, 200)
      assert.deepStrictEqual(yield* usage("calls"), [0, 0])
      assert.strictEqual((yield* report("calls", { value: 10 })).status, 200)
      const listed = yield* events("calls")
      assert.strictEqual(listed.length, 2)
      const voided = listed.find(({ id }: { id: string }) => id === event.id)
      assert.isString(voided.voidedAt)
      const since = yield* events("calls", `?since=${voided.timestamp}`)
      assert.include(
        since.map(({ id }: { id: string }) => id),
        voided.id,
      )
      assert.isString(voided.voidedBy.name)
      for (const id of [event.id, "nonsense", "0-zz", `${event.id}0`]) {
        const gone = yield* voidEvent("calls", id)
        assert.deepStrictEqual([gone.status, gone.body.code], [404, "UsageEvent.NotFound"], id)
      }
      const told = yield* call("GET", "/events?type=USAGE_EVENT_VOIDED")
      assert.deepStrictEqual(
        told.body.items.map(({ data }: { data: Record<string, unknown> }) => [
          data["id"],
          data["value"],
          data["instanceSlug"],
          data["entitlementSlug"],
        ]),
        [[event.id, 7, "prod", "calls"]],
      )
      // A unique key is counted again if all its events were voided.
      yield* entitlement("users", { aggregationMethod: "UNIQUE_COUNT" })
      yield* grant("pro", "users", 5)
      yield* report("users", { uniqueKey: "anna" })
      const [only] = yield* events("users")
      yield* voidEvent("users", only.id)
      yield* report("users", { uniqueKey: "anna" })
      assert.deepStrictEqual(yield* usage("users"), [1, 1])
    }),
  )

  it.effect("in buckets are there for every hour, day or month, up to 750 of them", () =>
    Effect.gen(function* () {
      const { entitlement, history, metered, report } = yield* openShop
      yield* metered("calls", 1000, { resetPeriod: "DAY" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* report("calls", { value: 0.1, timestamp: iso(base) })
      yield* report("calls", { value: 0.2, timestamp: iso(base + 60_000) })
      yield* report("calls", { value: 5, timestamp: iso(base + 24 * HOUR) })
      const months = yield* history("calls", "MONTH", base - 40 * 24 * HOUR, base + 25 * HOUR)
      const filled = months.body.items.filter(({ event_count }: { event_count: number }) => event_count > 0)
      const sum = filled.reduce((total: number, { value }: { value: number }) => total + value, 0)
      assert.closeTo(sum, 5.3, 1e-12)
      const { body } = yield* history("calls", "HOUR", base + 1, base + 2 * HOUR)
      assert.deepStrictEqual(body.items, [
        { start: iso(base), end: iso(base + HOUR), value: 0.3, event_count: 2 },
        { start: iso(base + HOUR), end: iso(base + 2 * HOUR), value: 0, event_count: 0 },
      ])
      const locations = (slug: string, bucket: string, from: number, to: number) =>
        Effect.map(history(slug, bucket, from, to), (answer) => [answer.status, answer.body.errors?.[0]?.location])
      assert.deepStrictEqual(yield* locations("calls", "HOUR", base, base + 751 * HOUR), [422, "query.to"])
      assert.strictEqual((yield* history("calls", "HOUR", base, base + 750 * HOUR)).body.items.length, 750)
      assert.deepStrictEqual(yield* locations("calls", "DAY", base, base), [422, "query.to"])
      assert.deepStrictEqual(yield* locations("calls", "WEEK", base, base + HOUR), [422, "query.bucket"])
      assert.deepStrictEqual(yield* locations("sso", "DAY", base, base + HOUR), [422, "path.entitlementSlug"])
    }),
  )

  it.effect("of a year are read from hours, which the sweeper keeps, while more events arrive", () =>
    Effect.gen(function* () {
      const { events, history, instance, metered, report, tenant, usage, voidEvent } = yield* openShop
      const sql = yield* PgClient.PgClient
      const { addMissing } = yield* Rollups
      const { id } = yield* metered("calls", -1)
      yield* report("calls", { value: 1, timestamp: iso(base) })
      const count = 3_000
      const [total] = yield* sql<{ period: Date }>`
        SELECT period_start AS period FROM usage_totals WHERE organization_id = ${tenant.organizationId}`
      yield* sql`
        INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
          reported_at, reported_by)
        SELECT ${tenant.organizationId}::uuid, ${instance.id}::uuid, ${id}::uuid, ${total?.period}::timestamptz, 1 + number,
          ${iso(base)}::timestamptz - interval '1 hour' * (number % 2000), 'append', 0.1, now(), ${JSON.stringify(platformIdentity)}::text::jsonb
        FROM generate_series(1, ${count}::int) AS number`
      yield* sql`
        UPDATE usage_totals SET event_count = event_count + ${count}, value = value + ${count} * 0.1, sum = sum + ${count} * 0.1,
          value_count = value_count + ${count}
        WHERE organization_id = ${tenant.organizationId}`
      const sum = Effect.map(history("calls", "DAY", base - 100 * 24 * HOUR, base + HOUR), ({ body }) =>
        body.items.reduce(
          (all: BigDecimal.BigDecimal, { value }: { value: number }) => BigDecimal.sum(all, decimal(value)),
          decimal(0),
        ),
      )
      const expectSum = Effect.fnUntraced(function* () {
        const [value] = yield* usage("calls")
        assert.strictEqual(BigDecimal.format(yield* sum), BigDecimal.format(decimal(value)))
      })
      yield* expectSum()
      assert.isAtLeast(yield* addMissing(new Date(), 100), 1)
      const [hours] = yield* sql<{ count: number }>`
        SELECT count(*)::int AS count FROM usage_hours WHERE organization_id = ${tenant.organizationId}`
      assert.isAtLeast(hours?.count ?? 0, 1_999)
      yield* expectSum()
      yield* report("calls", { value: 2, timestamp: iso(base - HOUR) })
      yield* expectSum()
      for (const event of (yield* events("calls")).slice(0, 5)) {
        assert.strictEqual((yield* voidEvent("calls", event.id)).status, 204)
      }
      yield* expectSum()
      yield* rollUp(tenant.organizationId)
      yield* expectSum()
    }),
  )
})
