import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { testSql } from "../support/TestDatabase.ts"
import { testServiceForms } from "../support/forms.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { daysAgo, openMeteredShop } from "./MeteredShop.ts"
import { randomIntegers } from "./RandomGenerator.ts"

const statuses = ({ body }: HttpResponse): ReadonlyArray<string> =>
  body.results.map(({ status }: { status: string }) => status)

let keys = 0
const openSending = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const { core } = yield* TestService
  const sql = yield* PgClient.PgClient
  const { organizationId, token } = shop.tenant
  /** Sends a batch. Under an idempotency key it is counted under locks. */
  const send = (body: unknown, isKeyed = false) =>
    core("POST", "/usage-events", {
      token,
      body,
      headers: isKeyed ? { "idempotency-key": `batch-${++keys}` } : {},
    })
  const stored = Effect.orDie(sql`
    SELECT i.slug AS instance, e.slug AS entitlement, t.value::text, t.event_count::int,
      t.sum::text, t.value_count::int, t.set_at, t.latest_at, t.last_at, t.warned, t.limit_reached, t.cap_exceeded,
      (SELECT array_agg(jsonb_build_array(u.ordinal, u.value::text, u.timestamp, u.unique_key) ORDER BY u.ordinal)
        FROM usage_events u WHERE u.organization_id = t.organization_id AND u.instance_id = t.instance_id
          AND u.entitlement_id = t.entitlement_id AND u.period_start = t.period_start) AS events
    FROM usage_totals t
    JOIN instances i ON i.organization_id = t.organization_id AND i.id = t.instance_id
    JOIN entitlements e ON e.organization_id = t.organization_id AND e.id = t.entitlement_id
    WHERE t.organization_id = ${organizationId} ORDER BY 1, 2, t.period_start`)
  return { ...shop, send, stored }
})

/** A shop with meters of many kinds: some hardly ever cross a threshold, others do at once. */
const openVaried = Effect.gen(function* () {
  const shop = yield* openSending
  yield* shop.metered("free", -1)
  yield* shop.metered("wide", 1000, { warningThresholdPercent: 80 })
  yield* shop.metered("daily", 60, { resetPeriod: "DAY", warningThresholdPercent: 50 }, 20)
  yield* shop.metered("hits", 40, { aggregationMethod: "COUNT" }, 10)
  yield* shop.metered("peak", 1000, { aggregationMethod: "MAX" })
  yield* shop.entitlement("alien")
  yield* shop.instanceOf("Spare", "acme", "pro", {
    startLicenseDate: daysAgo(2),
    endLicenseDate: "2099-01-01T00:00:00Z",
  })
  return shop
})

for (const { form, service } of testServiceForms) {
  const services = testSql.pipe(Layer.provideMerge(service))

  layer(services, { excludeTestServices: true })(`batches of usage events, ${form},`, (it) => {
    it.effect(
      "leave the same rows when they are counted set-wise and under locks",
      () =>
        Effect.gen(function* () {
          const random = randomIntegers(11)
          const [one, other] = [yield* openVaried, yield* openVaried]
          const days = [0, 1, 1, 3].map((day) => daysAgo(day))
          const names = ["free", "wide", "daily", "hits"]
          for (let turn = 0; turn < 40; turn++) {
            // Every third batch contains events that cannot be counted set-wise: a maximum, a correction, a missing grant.
            const isVaried = turn % 3 === 2
            const batch = Array.from({ length: 1 + random(25) }, () => {
              const type = isVaried && random(6) === 0 ? ["peak", "alien", "none"][random(3)] : names[random(4)]
              const value = isVaried && random(8) === 0 ? -random(3) : `${random(4)}.${random(100)}`
              return {
                specversion: "1.0",
                id: `${turn - random(2)} ${random(40)}`,
                source: "/gateway",
                subject: random(4) === 0 ? "spare" : "prod",
                type,
                time: days[random(days.length)],
                data: { value, ...(random(3) === 0 ? { uniqueKey: "someone" } : {}) },
              }
            })
            const answers = [yield* one.send(batch), yield* other.send(batch, true)]
            assert.strictEqual(answers[0]?.status, 200, answers[0]?.text)
            assert.deepStrictEqual(answers[0]?.body, answers[1]?.body, `batch ${turn}`)
            if (turn % 7 === 3) {
              const reset = { value: random(20), behavior: "set", timestamp: days[random(2)] }
              for (const shop of [one, other]) assert.strictEqual((yield* shop.report("free", reset)).status, 200)
            }
          }
          assert.deepStrictEqual(yield* one.stored, yield* other.stored)
          assert.deepStrictEqual((yield* one.thresholds).toSorted(), (yield* other.thresholds).toSorted())
          assert.isAbove((yield* one.thresholds).length, 5)
        }),
      120_000,
    )

    it.effect("create missing totals and emit the events of all thresholds that they cross", () =>
      Effect.gen(function* () {
        const { metered, send, thresholds, used } = yield* openSending
        yield* metered("calls", 10, { resetPeriod: "DAY", warningThresholdPercent: 50 })
        const events = (name: string, values: ReadonlyArray<number>, day: number) =>
          values.map((value, index) => ({
            specversion: "1.0",
            id: `${name} ${index}`,
            source: "/gateway",
            subject: "prod",
            type: "calls",
            time: daysAgo(day),
            data: { value },
          }))
        assert.deepStrictEqual(statuses(yield* send(events("a", [1, 2, 1], 0))), ["accepted", "accepted", "accepted"])
        assert.deepStrictEqual(yield* thresholds, [])
        assert.strictEqual(yield* used("calls"), 4)
        yield* send(events("b", [1], 0))
        assert.deepStrictEqual(yield* thresholds, ["WARNING"])
        yield* send(events("c", [4, 2], 2))
        assert.deepStrictEqual(yield* thresholds, ["WARNING", "WARNING"])
        assert.strictEqual(yield* used("calls"), 5)
        // Above the warning, usage may rise without another event.
        yield* send(events("d", [1, 1], 0))
        assert.strictEqual((yield* thresholds).length, 2)
        assert.strictEqual(yield* used("calls"), 7)
        yield* send(events("e", [3], 0))
        assert.deepStrictEqual(yield* thresholds, ["WARNING", "WARNING", "LIMIT"])
        yield* send(events("f", [10], 3))
        assert.strictEqual((yield* thresholds).length, 5)
      }),
    )

    it.effect("leave room for reservations", () =>
      Effect.gen(function* () {
        const { call, metered, send, used } = yield* openSending
        yield* metered("calls", 10)
        yield* metered("more", 10)
        assert.strictEqual(
          (yield* call("POST", "/instances/prod/entitlements/calls/reservations", { quantity: 6 })).status,
          201,
        )
        const event = (id: string, type: string, value: number) => ({
          specversion: "1.0",
          id,
          source: "/gateway",
          subject: "prod",
          type,
          data: { value },
        })
        assert.deepStrictEqual(statuses(yield* send([event("a", "calls", 4), event("b", "more", 9)])), [
          "accepted",
          "accepted",
        ])
        assert.deepStrictEqual(statuses(yield* send([event("c", "calls", 1), event("d", "more", 0)])), [
          "rejected",
          "accepted",
        ])
        assert.deepStrictEqual([yield* used("calls"), yield* used("more")], [4, 9])
      }),
    )

    it.effect(
      "are counted exactly, in parallel with consumes and reports of the same totals",
      () =>
        Effect.gen(function* () {
          const { check, metered, report, send, stored, used } = yield* openSending
          const slugs = ["one", "two", "three"]
          for (const slug of slugs) yield* metered(slug, 1_000_000)
          const batch = (number: number) =>
            Array.from({ length: 90 }, (_, index) => ({
              specversion: "1.0",
              // A third of the events are sent again in the next batch.
              id: `${number * 60 + index}`,
              source: "/gateway",
              subject: "prod",
              type: slugs[(number * 60 + index) % 3],
              data: { value: 1 },
            }))
          const answers = yield* Effect.all(
            Array.from({ length: 48 }, (_, turn) => {
              const entitlement = slugs[turn % 3] ?? "one"
              if (turn % 4 === 1) return Effect.map(check([{ entitlement }]), () => [])
              if (turn % 4 === 3) return Effect.map(report(entitlement, { value: 1 }), () => [])
              return Effect.map(send(batch(turn / 2), turn % 8 === 0), statuses)
            }),
            { concurrency: "unbounded" },
          )
          const accepted = answers.flat().filter((status) => status === "accepted").length
          assert.strictEqual(accepted, 24 * 60 + 30)
          const usages = yield* Effect.forEach(slugs, used)
          assert.strictEqual(
            usages.reduce((sum, value) => sum + value, 0),
            accepted + 24,
          )
          for (const { event_count, events } of yield* stored) {
            assert.deepStrictEqual(
              (events as ReadonlyArray<ReadonlyArray<unknown>>).map(([ordinal]) => ordinal),
              Array.from({ length: Number(event_count) }, (_, index) => index + 1),
            )
          }
        }),
      120_000,
    )

    it.effect("create no total of an instance that is being deleted", () =>
      Effect.gen(function* () {
        const { metered, send, tenant } = yield* openSending
        const sql = yield* PgClient.PgClient
        yield* metered("calls", -1)
        const event = {
          specversion: "1.0",
          id: "a",
          source: "/gateway",
          subject: "prod",
          type: "calls",
          data: { value: 1 },
        }
        const sending = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT 1 FROM instances WHERE organization_id = ${tenant.organizationId} FOR UPDATE`
            const fiber = yield* Effect.forkDetach(send([event]))
            yield* Effect.sleep("300 millis")
            yield* sql`DELETE FROM instances WHERE organization_id = ${tenant.organizationId}`
            return fiber
          }),
        )
        assert.deepStrictEqual((yield* Fiber.join(sending)).body.results[0].code, "Instance.NotFound")
        const totals = yield* sql`SELECT 1 FROM usage_totals WHERE organization_id = ${tenant.organizationId}`
        assert.strictEqual(totals.length, 0)
      }),
    )
  })
}
