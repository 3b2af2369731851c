import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { CurrentTermLeads } from "../../src/domains/instances/terms/Leads.ts"
import { TERM_BATCH, TermNotices } from "../../src/domains/instances/terms/Service.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { createShop } from "./Shop.ts"

const END = Date.parse("2030-06-01T00:00:00Z")
const fromEnd = (days: number) => END + days * DAY_MS
const iso = (millis: number) => new Date(millis).toISOString()

/** Emits all that is due at a time. */
const look = (millis: number) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(millis)
    const { emitDue } = yield* TermNotices
    yield* Effect.repeat(emitDue, { while: (count) => count === TERM_BATCH })
  }).pipe(Effect.provide(TestClock.layer()))

/** A shop with an instance whose license ends at {@link END}. */
const openShop = Effect.gen(function* () {
  const shop = yield* createShop
  const sql = yield* PgClient.PgClient
  yield* shop.license("pro", { graceDays: 14 })
  const { slug: customer } = yield* shop.customer("Globex")
  yield* shop.instance("prod", customer, "pro", { slug: "prod", endLicenseDate: iso(END) })
  const patch = (body: object) => shop.call("PATCH", "/instances/prod", body)
  /** What was emitted so far: the event without its prefix, the days left, and the end. */
  const told = Effect.map(
    sql<{ type: string; data: { daysLeft?: number; endLicenseDate: string } }>`
      SELECT type, data FROM events WHERE organization_id = ${shop.tenant.organizationId} AND type ~ 'TERM_END|GRACE_END'
      ORDER BY id`,
    (rows) =>
      rows.map(({ data, type }) => [type.replace("INSTANCE_", ""), data.daysLeft, data.endLicenseDate.slice(0, 10)]),
  )
  return { ...shop, customer, patch, told }
})

layer(TestService.separate, { excludeTestServices: true })("the events about the end of a license", (it) => {
  it.effect("come once each over the years, however often a node looks", () =>
    Effect.gen(function* () {
      const { patch, told } = yield* openShop
      const end = "2030-06-01"
      // Every twelve hours for two years, and back again.
      for (let days = -400; days <= 330; days += 0.5) yield* look(fromEnd(days))
      const first = [
        ["TERM_ENDING", 30, end],
        ["TERM_ENDING", 7, end],
        ["TERM_ENDING", 1, end],
        ["TERM_ENDED", undefined, end],
        ["GRACE_ENDED", undefined, end],
      ]
      assert.deepStrictEqual(yield* told, first)
      for (const days of [-31, -7, 0, 14, 3000]) yield* look(fromEnd(days))
      assert.deepStrictEqual(yield* told, first)

      // A renewal has its own; the old end has not again.
      const renewed = "2031-06-01"
      yield* patch({ endLicenseDate: `${renewed}T00:00:00Z` })
      for (let days = 330; days <= 366; days += 1) yield* look(fromEnd(days))
      const second = [30, 7, 1].map((days) => ["TERM_ENDING", days, renewed])
      assert.deepStrictEqual(yield* told, [...first, ...second, ["TERM_ENDED", undefined, renewed]].slice(0, 9))
      yield* patch({ endLicenseDate: iso(END) })
      yield* look(fromEnd(4000))
      yield* patch({ endLicenseDate: null })
      yield* look(fromEnd(4000))
      assert.strictEqual((yield* told).length, 9)
    }),
  )

  it.effect("are made up for after an outage or a step of the clock, in their order", () =>
    Effect.gen(function* () {
      const { told } = yield* openShop
      yield* look(fromEnd(100))
      assert.deepStrictEqual(
        (yield* told).map(([type, left]) => [type, left]),
        [
          ["TERM_ENDING", 0],
          ["TERM_ENDING", 0],
          ["TERM_ENDING", 0],
          ["TERM_ENDED", undefined],
          ["GRACE_ENDED", undefined],
        ],
      )
      yield* look(fromEnd(-100))
      yield* look(fromEnd(0))
      assert.strictEqual((yield* told).length, 5)
    }),
  )

  it.effect("follow the grace days of the instance and of its license, also if they change", () =>
    Effect.gen(function* () {
      const { call, license, patch, told } = yield* openShop
      const graceEnds = Effect.map(told, (all) => all.filter(([type]) => type === "GRACE_ENDED").length)
      // Changes come from the present, so this license has ended.
      const ended = Date.now() - 10 * DAY_MS
      yield* patch({ endLicenseDate: iso(ended) })
      yield* look(Date.now())
      assert.deepStrictEqual(
        (yield* told).map(([type]) => type),
        ["TERM_ENDED"],
      )
      yield* call("PUT", "/licenses/pro", { graceDays: 20 })
      yield* look(Date.now() + 9 * DAY_MS)
      assert.strictEqual(yield* graceEnds, 0)
      // Shorter: the grace period has ended already.
      yield* call("PUT", "/licenses/pro", { graceDays: 5 })
      yield* look(Date.now())
      assert.strictEqual(yield* graceEnds, 1)
      yield* patch({ graceDays: 30 })
      yield* look(Date.now() + 300 * DAY_MS)
      assert.strictEqual(yield* graceEnds, 1)

      // Another license of the instance, with other grace days.
      yield* license("max", { graceDays: 1 })
      const moved = Date.now() - 2 * DAY_MS
      yield* patch({ endLicenseDate: iso(moved), graceDays: null })
      yield* look(Date.now())
      assert.strictEqual(yield* graceEnds, 1)
      yield* patch({ licenseSlug: "max" })
      yield* look(Date.now())
      assert.strictEqual(yield* graceEnds, 2)
    }),
  )

  it.effect("of a license without grace days say nothing of a grace period", () =>
    Effect.gen(function* () {
      const { patch, told } = yield* openShop
      yield* patch({ graceDays: 0 })
      yield* look(fromEnd(50))
      assert.deepStrictEqual((yield* told).at(-1)?.[0], "TERM_ENDED")
    }),
  )

  it.effect("of one instance are emitted by one of several nodes that look at once", () =>
    Effect.gen(function* () {
      const { customer, instance, told } = yield* openShop
      for (let index = 0; index < 20; index++) {
        yield* instance(`more-${index}`, customer, "pro", { endLicenseDate: iso(END) })
      }
      yield* Effect.forEach(Array.from({ length: 4 }), () => look(fromEnd(50)), { concurrency: 4 })
      yield* look(fromEnd(50))
      assert.strictEqual((yield* told).length, 21 * 5)
    }),
  )

  it.effect("use other lead times after a restart with another setting", () =>
    Effect.gen(function* () {
      const { told } = yield* openShop
      yield* look(fromEnd(-100))
      const restarted = Layer.fresh(TermNotices.layer).pipe(
        Layer.provide(Layer.succeed(CurrentTermLeads, [Duration.days(60), Duration.seconds(3)])),
      )
      yield* Effect.gen(function* () {
        yield* (yield* TermNotices).applyLeads
        yield* look(fromEnd(-59))
        assert.deepStrictEqual(yield* told, [["TERM_ENDING", 59, "2030-06-01"]])
        yield* look(END - 3000)
        yield* look(END - 1)
        assert.strictEqual((yield* told).length, 2)
        yield* (yield* TermNotices).applyLeads
        yield* look(END - 1)
        assert.strictEqual((yield* told).length, 2)
      }).pipe(Effect.provide(restarted))
    }),
  )

  it.effect("end with the instance and with its organization", () =>
    Effect.gen(function* () {
      const { call, told } = yield* openShop
      yield* look(fromEnd(-30))
      assert.strictEqual((yield* call("DELETE", "/instances/prod")).status, 204)
      yield* look(fromEnd(100))
      assert.strictEqual((yield* told).length, 1)
    }),
  )
})
