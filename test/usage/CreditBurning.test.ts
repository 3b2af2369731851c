import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"
import { openCreditedShop } from "./CreditedShop.ts"

const HOUR = 3_600_000
const USAGE = "/instances/prod/entitlements/calls/usage"

const service = TestService.separate.pipe(Layer.provideMerge(MovableClock.layer))

/** A shop that grants so many calls. */
const openShop = (limit: number, more: object = {}, overagePercent = 0) =>
  Effect.tap(openCreditedShop, (shop) => shop.metered("calls", limit, more, overagePercent))

const event = (id: string, value: number) => ({
  specversion: "1.0",
  id,
  source: "/gateway",
  subject: "prod",
  type: "calls",
  data: { value },
})

layer(service, { excludeTestServices: true })("usage", (it) => {
  it.effect("burns credits after the limit and before the overage, and its events say which", () =>
    Effect.gen(function* () {
      const shop = yield* openShop(10, {}, 50)
      const [late, soon] = [
        yield* shop.credit("calls", { amount: 4 }),
        yield* shop.credit("calls", { amount: 3, priority: 10 }),
      ]
      assert.strictEqual((yield* shop.report("calls", { value: 15 })).status, 200)
      assert.deepStrictEqual(
        yield* shop.usedOf,
        new Map([
          [late, 2],
          [soon, 3],
        ]),
      )
      const { body } = yield* shop.call("GET", `${USAGE}/events`)
      assert.deepStrictEqual(body.items[0].credits, [
        { id: soon, quantity: 3 },
        { id: late, quantity: 2 },
      ])
      const answer = yield* shop.ask("calls", 7)
      assert.deepStrictEqual(
        [answer.reason, answer.usage, answer.remaining, answer.overage, answer.credits],
        ["SOFT_LIMIT", 15, 2, 0, 2],
      )
      assert.strictEqual((yield* shop.ask("calls", 8)).reason, "LIMIT_REACHED")
      yield* shop.assertUsesAddUp
    }),
  )

  it.effect("emits that a credit is used up, once, and again after something was returned to it", () =>
    Effect.gen(function* () {
      const shop = yield* openShop(0)
      yield* shop.credit("calls", { amount: 3 })
      yield* shop.report("calls", { value: 2 })
      assert.strictEqual(yield* shop.emitted("CREDIT_USED_UP"), 0)
      yield* shop.report("calls", { value: 1 })
      assert.strictEqual((yield* shop.report("calls", { value: 1 })).status, 409)
      assert.strictEqual(yield* shop.emitted("CREDIT_USED_UP"), 1)
      yield* shop.report("calls", { value: -1 })
      yield* shop.report("calls", { value: 1 })
      assert.strictEqual(yield* shop.emitted("CREDIT_USED_UP"), 2)
      yield* shop.assertUsesAddUp
    }),
  )

  it.effect("crosses thresholds by what credits have not paid", () =>
    Effect.gen(function* () {
      const shop = yield* openShop(10, { warningThresholdPercent: 80 })
      yield* shop.credit("calls", { amount: 100 })
      yield* shop.report("calls", { value: 7 })
      assert.deepStrictEqual(yield* shop.thresholds, [])
      yield* shop.report("calls", { value: 40 })
      assert.deepStrictEqual(yield* shop.thresholds, ["WARNING", "LIMIT"])
      yield* shop.report("calls", { value: 40 })
      assert.deepStrictEqual(yield* shop.thresholds, ["WARNING", "LIMIT"])
      assert.strictEqual((yield* shop.report("calls", { value: 40 })).status, 409)
      assert.deepStrictEqual(yield* shop.thresholds, ["WARNING", "LIMIT", "CAP_EXCEEDED"])
      // 87 are used, and credits paid 77 of them: they get all of it back before the limit does.
      yield* shop.report("calls", { value: -77 })
      assert.strictEqual((yield* shop.ask("calls", 0)).remaining, 100)
      yield* shop.report("calls", { value: -3 })
      yield* shop.report("calls", { value: 3 })
      assert.deepStrictEqual(yield* shop.thresholds, ["WARNING", "LIMIT", "CAP_EXCEEDED", "WARNING", "LIMIT"])
    }),
  )

  it.effect("that is sent again burns nothing: by its transaction id, its event id or its key", () =>
    Effect.gen(function* () {
      const shop = yield* openShop(0)
      const id = yield* shop.credit("calls", { amount: 100 })
      for (let time = 0; time < 2; time++) {
        yield* shop.report("calls", { value: 5, transactionId: "t" })
        yield* shop.report("calls", { value: 5 }, { "idempotency-key": "k" })
        yield* shop.call("POST", "/usage-events", [event("e", 5), event("e", 5)])
      }
      assert.strictEqual((yield* shop.usedOf).get(id), 15)
      yield* shop.assertUsesAddUp
    }),
  )

  it.effect("that is denied says what limit and credits have left, and burns nothing", () =>
    Effect.gen(function* () {
      const shop = yield* openShop(10)
      yield* shop.metered("exports", 1)
      const id = yield* shop.credit("calls", { amount: 5 })
      const denied = yield* shop.report("calls", { value: 16 })
      assert.strictEqual(
        denied.body.detail,
        'The limit of "calls" of "prod" is 10 (0 % overage); 0 is used in the period and 0 is held by reservations. Its credits have 5 left.',
      )
      const reserved = yield* shop.call("POST", "/instances/prod/entitlements/calls/reservations", { quantity: 16 })
      assert.match(reserved.body.detail, /Its credits have 5 left\.$/)
      // All items of a check, or none.
      yield* shop.check([
        { entitlement: "calls", requested: 12 },
        { entitlement: "exports", requested: 2 },
      ])
      assert.strictEqual((yield* shop.usedOf).get(id), 0)
      const { body } = yield* shop.check([{ entitlement: "calls", requested: 12 }, { entitlement: "exports" }])
      assert.deepStrictEqual([body.checks[0].remaining, body.checks[0].credits], [3, 3])
      assert.strictEqual((yield* shop.usedOf).get(id), 2)
    }),
  )

  it.effect("that nothing else grants is granted by a credit until it expires", () =>
    Effect.gen(function* () {
      const clock = yield* MovableClock
      const shop = yield* openCreditedShop
      yield* shop.entitlement("calls")
      const use = Effect.map(shop.check([{ entitlement: "calls" }]), ({ body }) => body.checks[0].reason)
      assert.strictEqual(yield* use, "NOT_GRANTED")
      yield* shop.credit("calls", { amount: 1, expiresAt: new Date(clock.now() + HOUR).toISOString() })
      assert.deepStrictEqual([yield* use, yield* use], ["GRANTED", "LIMIT_REACHED"])
      yield* clock.pass(HOUR)
      assert.strictEqual(yield* use, "NOT_GRANTED")
    }),
  )

  it.effect(
    "of a time before a credit expired can burn it, and a void returns it, where it is no longer spendable",
    () =>
      Effect.gen(function* () {
        const clock = yield* MovableClock
        const shop = yield* openShop(0)
        const id = yield* shop.credit("calls", { amount: 5, expiresAt: new Date(clock.now() + HOUR).toISOString() })
        const inTime = new Date(clock.now() + 1).toISOString()
        yield* clock.pass(2 * HOUR)
        assert.strictEqual((yield* shop.report("calls", { value: 1 })).status, 409)
        assert.strictEqual((yield* shop.report("calls", { value: 4, timestamp: inTime })).status, 200)
        const { body } = yield* shop.call("GET", `${USAGE}/events`)
        yield* shop.call("DELETE", `${USAGE}/events/${body.items[0].id}`)
        const credit = (yield* shop.call("GET", `/credits/${id}`)).body
        assert.deepStrictEqual([credit.used, credit.remaining, credit.state], [0, 0, "EXPIRED"])
        yield* shop.assertUsesAddUp
      }),
  )

  it.effect("that is committed burns what was set aside for it, also after the credit has expired", () =>
    Effect.gen(function* () {
      const clock = yield* MovableClock
      const shop = yield* openShop(10)
      const id = yield* shop.credit("calls", { amount: 5, expiresAt: new Date(clock.now() + HOUR / 2).toISOString() })
      const reservations = "/instances/prod/entitlements/calls/reservations"
      const reserve = (quantity: number) => shop.call("POST", reservations, { quantity, expiresInSeconds: 3_600 })
      const held = yield* reserve(13)
      assert.strictEqual((yield* shop.call("GET", `/credits/${id}`)).body.reserved, 3)
      assert.strictEqual((yield* shop.ask("calls", 0)).remaining, 2)
      assert.strictEqual((yield* reserve(3)).status, 409)
      yield* clock.pass(HOUR / 2)
      yield* shop.call("POST", `/reservations/${held.body.id}/commit`, { quantity: 12 })
      const credit = (yield* shop.call("GET", `/credits/${id}`)).body
      assert.deepStrictEqual([credit.used, credit.reserved, credit.state], [2, 0, "EXPIRED"])
      assert.strictEqual((yield* shop.ask("calls", 0)).overage, 0)
      yield* shop.assertUsesAddUp
    }),
  )

  it.effect("within the limit does not wait for its credits", () =>
    Effect.gen(function* () {
      const shop = yield* openShop(10)
      yield* shop.credit("calls", { amount: 5 })
      yield* shop.report("calls", { value: 1 })
      const sql = yield* PgClient.PgClient
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT 1 FROM credits WHERE organization_id = ${shop.tenant.organizationId} FOR UPDATE`
          const answers = yield* Effect.all([
            shop.report("calls", { value: 1 }),
            shop.check([{ entitlement: "calls" }]),
            shop.call("POST", "/usage-events", [event("1", 1)]),
          ])
          assert.deepStrictEqual(
            answers.map(({ status }) => status),
            [200, 200, 200],
          )
        }),
      )
      assert.strictEqual(yield* shop.used("calls"), 4)
    }),
  )

  it.effect("of many callers burns nothing at or after the expiry of a credit, and voids beside it add up", () =>
    Effect.gen(function* () {
      const clock = yield* MovableClock
      const shop = yield* openShop(5)
      const expiry = clock.now() + HOUR
      const id = yield* shop.credit("calls", { amount: 1_000, expiresAt: new Date(expiry).toISOString() })
      const use = (number: number) =>
        number % 3 === 0
          ? Effect.map(
              shop.check([{ entitlement: "calls", requested: 2 }]),
              ({ body }) => body.checks[0].allowed === true,
            )
          : Effect.map(shop.report("calls", { value: 2 }), ({ status }) => status === 200)
      const voidOne = Effect.gen(function* () {
        const { body } = yield* shop.call("GET", `${USAGE}/events?limit=20`)
        const [found] = body.items.filter(({ voidedAt }: { voidedAt: unknown }) => voidedAt === null)
        if (found !== undefined) yield* shop.call("DELETE", `${USAGE}/events/${found.id}`)
      })
      const all = Array.from({ length: 160 }, (_, number) =>
        number === 100 ? Effect.as(clock.pass(HOUR), true) : number % 10 === 9 ? Effect.as(voidOne, true) : use(number),
      )
      yield* Effect.all(all, { concurrency: 16 })
      assert.strictEqual((yield* shop.report("calls", { value: 2 })).status, 409)
      const sql = yield* PgClient.PgClient
      const burned = yield* sql<{ at: Date }>`SELECT at FROM credit_uses WHERE credit_id = ${id}`
      assert.isAbove(burned.length, 20)
      assert.deepStrictEqual(
        burned.filter(({ at }) => at.getTime() >= expiry),
        [],
      )
      yield* shop.assertUsesAddUp
    }),
  )
})
