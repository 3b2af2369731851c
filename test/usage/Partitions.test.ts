import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { randomUUID } from "node:crypto"
import { removalOrder } from "../../src/domains/maintenance/RemovalOrder.ts"
import { MONTHS_AHEAD, UsagePartitions } from "../../src/domains/usage/partitions/Partitions.ts"
import { REST, UsagePartitionsRepo } from "../../src/domains/usage/partitions/Repo.ts"
import { months } from "../../src/kernel/database/TimePartitions.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"
import { dropBefore, newMonths } from "./Months.ts"
import { whyNotPartitioned } from "./partitioned.ts"

const current = months.of(new Date())
/** The newest start of a month that is some hours ago: usage of both sides can still be reported. */
const border = months.startOf(months.of(new Date(Date.now() - DAY_MS / 4)))
const atBorder = [new Date(border.getTime() - 1), border].map((at) => at.toISOString())

const openShop = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const { core } = yield* TestService
  const { id } = yield* shop.metered("calls", -1)
  const usage = "/instances/prod/entitlements/calls/usage"
  const from = months.startOf(months.of(border) - 1).toISOString()
  return {
    ...shop,
    entitlementId: String(id),
    usage,
    events: Effect.map(shop.call("GET", `${usage}/events`), ({ body }) => body.items),
    history: Effect.map(
      shop.call("GET", `${usage}/history?bucket=MONTH&from=${from}&to=${months.startOf(current + 1).toISOString()}`),
      ({ body }) => body.items.map(({ value }: { value: number }) => value),
    ),
    send: (event: object) =>
      core("POST", "/usage-events", {
        token: shop.tenant.token,
        rawBody: JSON.stringify({ specversion: "1.0", source: "/gateway", subject: "prod", type: "calls", ...event }),
        headers: { "content-type": "application/cloudevents+json" },
      }),
  }
})

/** Where the events of an organization are. */
const tablesOf = (organizationId: OrganizationId) =>
  Effect.flatMap(PgClient.PgClient, (sql) =>
    Effect.map(
      sql<{ table: string; count: number }>`
        SELECT tableoid::regclass::text AS table, count(*)::int AS count FROM usage_events
        WHERE organization_id = ${organizationId} GROUP BY 1 ORDER BY 1`,
      (rows) => rows.map(({ count, table }) => [table, count]),
    ),
  )

const nameOf = (month: number) => `usage_events_${months.suffixOf(month)}`

const named = withReason("months of usage", whyNotPartitioned)

layer(TestService.separate, { excludeTestServices: true })(named, (tests) => {
  const it = { effect: whyNotPartitioned === undefined ? tests.effect : tests.effect.skip }

  it.effect("are created ahead, once by several sweepers, without a gap", () =>
    Effect.gen(function* () {
      const { maintain } = yield* UsagePartitions
      const { list } = yield* UsagePartitionsRepo
      const at = new Date(Date.UTC(2041, 4, 15))
      yield* Effect.all(
        Array.from({ length: 5 }, () => maintain(at)),
        { concurrency: "unbounded" },
      )
      // A sweep that found another one at work has left the rest to it.
      yield* maintain(at)
      const created = (yield* list).filter(({ from }) => from !== null && from.getTime() > Date.UTC(2041, 0))
      assert.deepStrictEqual(
        created.map(({ from, name, until }) => [name, from, until]),
        Array.from({ length: 3 + MONTHS_AHEAD }, (_, index) => {
          const month = months.of(at) - 2 + index
          return [nameOf(month), months.startOf(month), months.startOf(month + 1)]
        }),
      )
      const [partition] = yield* Effect.flatMap(
        PgClient.PgClient,
        (sql) => sql<{ names: string }>`
          SELECT string_agg(pg_get_indexdef(indexrelid), ' ') AS names FROM pg_index
          WHERE indrelid = ${nameOf(months.of(at))}::regclass`,
      )
      assert.match(
        partition?.names ?? "",
        /UNIQUE INDEX.*\(organization_id, instance_id, entitlement_id, period_start, ordinal\)/,
      )
      assert.match(partition?.names ?? "", /period_start, "timestamp", ordinal\)/)
    }),
  )

  it.effect("take usage that came before they were created", () =>
    Effect.gen(function* () {
      const { maintain } = yield* UsagePartitions
      yield* newMonths(new Date(Date.UTC(2020, 0)), 1)
      const shop = yield* openShop
      const now = new Date()
      assert.strictEqual((yield* shop.report("calls", { value: 3 })).status, 200)
      assert.deepStrictEqual(yield* tablesOf(shop.tenant.organizationId), [[REST, 1]])
      yield* maintain(now)
      assert.deepStrictEqual(yield* tablesOf(shop.tenant.organizationId), [[nameOf(months.of(now)), 1]])
      assert.strictEqual((yield* shop.report("calls", { value: 4 })).status, 200)
      assert.strictEqual(yield* shop.used("calls"), 7)
      assert.strictEqual((yield* shop.events).length, 2)
    }),
  )

  it.effect("count a report and an event once, also if it is sent again with a time in another month", () =>
    Effect.gen(function* () {
      yield* newMonths(months.startOf(current - 2), 4)
      const shop = yield* openShop
      const [last, first] = atBorder
      const reports = yield* Effect.all(
        Array.from({ length: 12 }, (_, index) =>
          shop.report("calls", { value: 5, transactionId: "t-1", timestamp: index % 2 === 0 ? last : first }),
        ),
        { concurrency: "unbounded" },
      )
      // The same id with another time is the same report or a conflict, but never counted again.
      assert.isTrue(reports.every(({ status }) => status === 200 || status === 409 || status === 422))
      assert.isTrue(reports.some(({ status }) => status === 200))
      assert.strictEqual(yield* shop.used("calls"), 5)
      const sent = yield* Effect.all(
        Array.from({ length: 12 }, (_, index) =>
          shop.send({ id: "e-1", time: index % 2 === 0 ? first : last, data: { value: 7 } }),
        ),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual([...new Set(sent.map(({ status }) => status))], [200])
      assert.strictEqual(yield* shop.used("calls"), 12)

      // One period with events on both sides of the border.
      for (const timestamp of [last, first, last, first]) yield* shop.report("calls", { value: 1, timestamp })
      assert.strictEqual(yield* shop.used("calls"), 16)
      const stored = yield* tablesOf(shop.tenant.organizationId)
      assert.deepStrictEqual(
        stored.map(([table]) => table),
        [nameOf(months.of(border) - 1), nameOf(months.of(border))],
      )
      const events = yield* shop.events
      assert.strictEqual(events.length, 6)
      assert.strictEqual(new Set(events.map(({ id }: { id: string }) => id)).size, 6)
      for (const { id, value } of events) {
        const before = yield* shop.used("calls")
        assert.strictEqual((yield* shop.call("DELETE", `${shop.usage}/events/${id}`)).status, 204)
        assert.strictEqual(yield* shop.used("calls"), before - value)
      }
      assert.strictEqual(yield* shop.used("calls"), 0)
    }),
  )

  it.effect("are dropped by one of several sweepers, and totals and history stay", () =>
    Effect.gen(function* () {
      yield* newMonths(months.startOf(current - 2), 4)
      const shop = yield* openShop
      const sql = yield* PgClient.PgClient
      const { list } = yield* UsagePartitionsRepo
      for (const [index, timestamp] of [...atBorder, ...atBorder].entries())
        yield* shop.report("calls", { value: 2 ** index, timestamp })
      const before = yield* shop.history
      const counts = yield* Effect.all(
        Array.from({ length: 4 }, () => dropBefore(border)),
        { concurrency: "unbounded" },
      )
      const dropped = counts.reduce((sum, count) => sum + count, 0) + (yield* dropBefore(border))
      assert.strictEqual(dropped, months.of(border) - (current - 2))
      assert.isTrue((yield* list).every(({ until }) => until === null || until > border))
      assert.deepStrictEqual(yield* sql`SELECT 1 FROM usage_drops`, [])
      assert.deepStrictEqual(yield* shop.history, before)
      assert.strictEqual(yield* shop.used("calls"), 15)
      assert.strictEqual((yield* shop.report("calls", { value: 100 })).status, 200)
      assert.strictEqual(yield* shop.used("calls"), 115)
    }),
  )

  it.effect("are not dropped while a reader has them; what is voided meanwhile is not in their sums", () =>
    Effect.gen(function* () {
      yield* newMonths(months.startOf(current - 2), 4)
      const shop = yield* openShop
      const sql = yield* PgClient.PgClient
      const transactions = yield* Transactions
      // A month that is always dropped whole: events are stored there as if they had been reported in time.
      const old = months.startOf(current - 2)
      for (let ordinal = 0; ordinal < 3; ordinal++) yield* shop.report("calls", { value: 10 ** ordinal })
      yield* sql`UPDATE usage_events SET timestamp = ${old} WHERE organization_id = ${shop.tenant.organizationId} AND value < 100`
      const before = yield* shop.events
      const voidedEvent = before.find(({ value }: { value: number }) => value === 10)
      const [reading, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const reader = yield* Effect.forkChild(
        transactions.run(
          Effect.gen(function* () {
            yield* Effect.orDie(sql`SELECT count(*) FROM usage_events`)
            yield* Deferred.succeed(reading, undefined)
            yield* Deferred.await(done)
          }),
        ),
      )
      yield* Deferred.await(reading)
      const cutoff = months.startOf(current - 1)
      // Beginning needs a lock that excludes writers only, so the month is summed, but not dropped.
      assert.strictEqual(yield* dropBefore(cutoff), 0)
      const [drop] = yield* sql<{ is_summed: boolean }>`SELECT is_summed FROM usage_drops`
      assert.isTrue(drop?.is_summed)
      assert.strictEqual((yield* shop.call("DELETE", `${shop.usage}/events/${voidedEvent.id}`)).status, 204)
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(reader)
      assert.strictEqual(yield* dropBefore(cutoff), 1)
      const [day] = yield* sql<{ sum: string; events: number; stored: number }>`
        SELECT sum::text, event_count::int AS events, stored_count::int AS stored FROM usage_days
        WHERE organization_id = ${shop.tenant.organizationId}`
      assert.deepStrictEqual(day, { sum: "1", events: 1, stored: 2 })
      assert.strictEqual(yield* shop.used("calls"), 101)
      assert.deepStrictEqual(
        (yield* shop.events).map(({ value }: { value: number }) => value),
        [100],
      )
      assert.strictEqual((yield* shop.call("DELETE", `${shop.usage}/events/${before.at(-1).id}`)).status, 404)
    }),
  )

  it.effect("stay as long as a site can bring usage of them", () =>
    Effect.gen(function* () {
      yield* newMonths(months.startOf(current - 2), 4)
      const sql = yield* PgClient.PgClient
      const shop = yield* openShop
      const cutoff = months.startOf(current - 1)
      const at = new Date(cutoff.getTime() + 90 * DAY_MS)
      const issuedAt = new Date(cutoff.getTime() - DAY_MS)
      const bundle = yield* sql`INSERT INTO offline_bundles ${sql.insert({
        organization_id: shop.tenant.organizationId,
        id: randomUUID(),
        instance_id: shop.instance.id,
        sequence: 1,
        kid: "k",
        token: "t",
        issued_at: issuedAt,
        renew_at: issuedAt,
        expires_at: issuedAt,
        usage_until: new Date(at.getTime() + 1),
        created_at: issuedAt,
        created_by: "{}",
      })} RETURNING id`
      assert.strictEqual(bundle.length, 1)
      assert.strictEqual(yield* dropBefore(cutoff), 0)
      yield* sql`UPDATE offline_bundles SET usage_until = ${at} WHERE organization_id = ${shop.tenant.organizationId}`
      assert.strictEqual(yield* dropBefore(cutoff), 1)
    }),
  )

  it.effect("lose the usage of a removed organization, and no other: months repeat the locations of rows", () =>
    Effect.gen(function* () {
      yield* newMonths(months.startOf(current - 2), 4)
      const sql = yield* PgClient.PgClient
      const [gone, other] = [yield* openShop, yield* openShop]
      for (const { report, tenant } of [gone, other]) {
        for (let value = 1; value <= 30; value++) yield* report("calls", { value })
        yield* sql`
          UPDATE usage_events SET timestamp = timestamp - ordinal % 3 * interval '25 days'
          WHERE organization_id = ${tenant.organizationId}`
      }
      const kept = yield* tablesOf(other.tenant.organizationId)
      assert.isAbove(kept.length, 1)
      for (const { deleteSome, table } of yield* removalOrder) {
        if (!table.startsWith("usage_")) continue
        yield* Effect.repeat(deleteSome(gone.tenant.organizationId, 7), { while: (count) => count > 0 })
      }
      assert.deepStrictEqual(yield* tablesOf(gone.tenant.organizationId), [])
      assert.deepStrictEqual(yield* tablesOf(other.tenant.organizationId), kept)
      assert.strictEqual(yield* other.used("calls"), 465)
    }),
  )
})
