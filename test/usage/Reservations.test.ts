import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { bySystem, Caller } from "../../src/kernel/contract/Caller.ts"
import { Consumption } from "../../src/domains/usage/check/Consumption.ts"
import { Reservations } from "../../src/domains/usage/reservations/Service.ts"
import { ReservationsRepo } from "../../src/domains/usage/reservations/Repo.ts"
import { Checks } from "../../src/domains/usage/check/Service.ts"
import { UsageReports } from "../../src/domains/usage/reports/Service.ts"
import { rejection } from "../instances/Shop.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const openReserving = Effect.gen(function* () {
  const metered = yield* openMeteredShop
  const { call } = metered
  return {
    ...metered,
    reserve: (slug: string, body: unknown = {}) =>
      call("POST", `/instances/prod/entitlements/${slug}/reservations`, body),
    commit: (id: string, body: unknown = {}) => call("POST", `/reservations/${id}/commit`, body),
    release: (id: string) => call("DELETE", `/reservations/${id}`),
    get: (id: string) => call("GET", `/reservations/${id}`),
    /** The usage, the remainder and the reserved quantity of a check. */
    standing: (entitlement: string) =>
      Effect.map(call("POST", "/instances/prod/check", { checks: [{ entitlement }], explain: true }), ({ body }) => {
        const [answer] = body.checks
        return [answer.usage, answer.remaining, answer.explanation.held]
      }),
  }
})

layer(TestService.separate, { excludeTestServices: true })("reservations", (it) => {
  it.effect("reserve a quantity that is not usage, and that no other request can get", () =>
    Effect.gen(function* () {
      const { check, get, metered, report, reserve, standing, used } = yield* openReserving
      yield* metered("calls", 10)
      const before = Date.now()
      const answer = yield* reserve("calls", { quantity: 6, metadata: { job: "export" } })
      assert.strictEqual(answer.status, 201)
      const { createdAt, createdBy, expiresAt, id, ...rest } = answer.body
      assert.deepStrictEqual(rest, {
        instance: "prod",
        entitlement: "calls",
        quantity: 6,
        state: "HELD",
        committedQuantity: null,
        metadata: { job: "export" },
      })
      assert.strictEqual(Date.parse(expiresAt) - Date.parse(createdAt), 300_000)
      assert.isAtLeast(Date.parse(createdAt), before - 1000)
      assert.isString(createdBy.name)
      assert.strictEqual(answer.headers.get("location"), `/api/reservations/${id}`)
      assert.deepStrictEqual((yield* get(id)).body, answer.body)
      assert.deepStrictEqual(yield* standing("calls"), [0, 4, 6])
      assert.strictEqual(yield* used("calls"), 0)
      const consumed = yield* check([{ entitlement: "calls", requested: 5 }])
      assert.deepStrictEqual(
        [consumed.body.checks[0].reason, consumed.body.checks[0].usage, consumed.body.checks[0].remaining],
        ["LIMIT_REACHED", 0, 4],
      )
      assert.strictEqual((yield* report("calls", { value: 5 })).body.code, "ReportUsage.ThresholdExceeded")
      assert.strictEqual((yield* report("calls", { value: 5, behavior: "set" })).status, 409)
      assert.strictEqual((yield* reserve("calls", { quantity: 5 })).body.code, "Reserve.LimitReached")
      assert.strictEqual((yield* reserve("calls", { quantity: 3 })).status, 201)
      assert.strictEqual((yield* check([{ entitlement: "calls" }])).body.checks[0].remaining, 0)
      assert.deepStrictEqual(yield* standing("calls"), [1, 0, 9])
    }),
  )

  it.effect("are committed with the used quantity and release the rest", () =>
    Effect.gen(function* () {
      const { call, commit, get, metered, reserve, standing, thresholds } = yield* openReserving
      yield* metered("calls", 10, { warningThresholdPercent: 70 })
      const { body: held } = yield* reserve("calls", { quantity: 10 })
      assert.deepStrictEqual(yield* thresholds, [])
      const committed = yield* commit(held.id, { quantity: 7.5 })
      assert.strictEqual(committed.status, 200)
      assert.deepStrictEqual(committed.body, { ...held, state: "COMMITTED", committedQuantity: 7.5 })
      assert.deepStrictEqual((yield* get(held.id)).body, committed.body)
      assert.deepStrictEqual(yield* standing("calls"), [7.5, 2.5, 0])
      assert.deepStrictEqual(yield* thresholds, ["WARNING"])
      const usage = yield* call("GET", "/instances/prod/entitlements/calls/usage")
      assert.deepStrictEqual(usage.body.usageValue, { type: "number", value: 7.5, event_count: 1 })
      const { body: all } = yield* reserve("calls", { quantity: 2.5 })
      assert.strictEqual((yield* commit(all.id)).body.committedQuantity, 2.5)
      assert.deepStrictEqual(yield* standing("calls"), [10, 0, 0])
      assert.deepStrictEqual(yield* thresholds, ["WARNING", "LIMIT"])
    }),
  )

  it.effect("leave all of the limit to consume when they are committed or released", () =>
    Effect.gen(function* () {
      const { check, commit, metered, release, reserve } = yield* openReserving
      yield* metered("calls", 20)
      const consumed = (requested: number) =>
        Effect.map(check([{ entitlement: "calls", requested }]), ({ body: { checks } }) => [
          checks[0].allowed,
          checks[0].usage,
          checks[0].remaining,
        ])
      const { body: committed } = yield* reserve("calls", { quantity: 6 })
      const { body: released } = yield* reserve("calls", { quantity: 5 })
      assert.deepStrictEqual(yield* consumed(10), [false, 0, 9])
      assert.strictEqual((yield* commit(committed.id, { quantity: 4 })).status, 200)
      assert.deepStrictEqual(yield* consumed(12), [false, 4, 11])
      assert.deepStrictEqual(yield* consumed(5), [true, 9, 6])
      assert.strictEqual((yield* release(released.id)).status, 204)
      assert.deepStrictEqual(yield* consumed(11), [true, 20, 0])
      assert.deepStrictEqual(yield* consumed(1), [false, 20, 0])
    }),
  )

  it.effect("have an optional body: one is reserved, and all of it committed", () =>
    Effect.gen(function* () {
      const { call, metered, standing } = yield* openReserving
      yield* metered("hits", 3, { aggregationMethod: "COUNT" })
      const reserved = yield* call("POST", "/instances/prod/entitlements/hits/reservations")
      assert.deepStrictEqual([reserved.status, reserved.body.quantity], [201, 1])
      assert.deepStrictEqual(yield* standing("hits"), [0, 2, 1])
      assert.strictEqual((yield* call("POST", `/reservations/${reserved.body.id}/commit`)).status, 200)
      assert.deepStrictEqual(yield* standing("hits"), [1, 2, 0])
    }),
  )

  it.effect("can be released, and end only once", () =>
    Effect.gen(function* () {
      const { commit, get, metered, release, reserve, standing } = yield* openReserving
      yield* metered("calls", 10)
      const { body: one } = yield* reserve("calls", { quantity: 6 })
      assert.strictEqual((yield* release(one.id)).status, 204)
      assert.strictEqual((yield* get(one.id)).body.state, "RELEASED")
      assert.deepStrictEqual(yield* standing("calls"), [0, 10, 0])
      const { body: other } = yield* reserve("calls", { quantity: 6 })
      yield* commit(other.id, { quantity: 0 })
      assert.deepStrictEqual(yield* standing("calls"), [0, 10, 0])
      for (const { id } of [one, other]) {
        for (const answer of [yield* commit(id), yield* release(id)]) {
          assert.deepStrictEqual([answer.status, answer.body.code], [409, "Reservation.NotHeld"])
        }
      }
      const nobody = "01900000-0000-7000-8000-000000000000"
      for (const answer of [yield* commit(nobody), yield* release(nobody), yield* get(nobody)]) {
        assert.deepStrictEqual([answer.status, answer.body.code], [404, "Reservation.NotFound"])
      }
      assert.deepStrictEqual(rejection(yield* get("no-uuid")).places, ["path.reservationId"])
    }),
  )

  it.effect("are rejected with the reason if nothing could be committed", () =>
    Effect.gen(function* () {
      const { call, entitlement, grant, instanceOf, metered, reserve, thresholds } = yield* openReserving
      yield* metered("calls", 2, {}, 50)
      yield* metered("free", -1)
      yield* metered("peak", 5, { aggregationMethod: "MAX" })
      yield* metered("hits", 5, { aggregationMethod: "COUNT" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* grant("pro", "sso", true)
      yield* entitlement("ungranted")
      const outcomeOf = (slug: string, body?: unknown) =>
        Effect.map(
          reserve(slug, body),
          ({ body: { code, errors, state } }) => state ?? (errors.length > 0 ? errors[0].location : code),
        )
      assert.strictEqual(yield* outcomeOf("calls", { quantity: 3 }), "HELD")
      assert.strictEqual(yield* outcomeOf("calls", { quantity: 0.1 }), "Reserve.LimitReached")
      assert.deepStrictEqual(yield* thresholds, ["CAP_EXCEEDED"])
      assert.strictEqual(yield* outcomeOf("free", { quantity: 123456789012 }), "HELD")
      assert.strictEqual(yield* outcomeOf("ungranted"), "Reserve.LimitReached")
      for (const slug of ["sso", "peak"]) assert.strictEqual(yield* outcomeOf(slug), "path.entitlementSlug")
      assert.strictEqual(yield* outcomeOf("hits", { quantity: 2 }), "body.quantity")
      assert.strictEqual(yield* outcomeOf("unheard-of"), "Entitlement.NotFound")
      for (const body of [{ quantity: 0 }, { quantity: -1 }, { quantity: 1e300 }]) {
        assert.strictEqual(yield* outcomeOf("free", body), "body.quantity")
      }
      for (const expiresInSeconds of [0, 86_401, 1.5]) {
        assert.strictEqual(yield* outcomeOf("free", { expiresInSeconds }), "body.expiresInSeconds")
      }
      assert.strictEqual(yield* outcomeOf("free", { expiresInSeconds: 86_400 }), "HELD")
      yield* instanceOf("Later", "acme", "pro", {
        startLicenseDate: "2098-01-01T00:00:00Z",
        endLicenseDate: "2099-01-01T00:00:00Z",
      })
      const later = yield* call("POST", "/instances/later/entitlements/free/reservations", {})
      assert.strictEqual(later.body.code, "Reserve.LimitReached")
      assert.include(later.body.detail, "2098-01-01")
      assert.strictEqual(
        (yield* call("POST", "/instances/none/entitlements/free/reservations", {})).body.code,
        "Instance.NotFound",
      )
    }),
  )

  it.effect("cannot be committed with more than their quantity", () =>
    Effect.gen(function* () {
      const { commit, metered, reserve } = yield* openReserving
      yield* metered("calls", 10)
      yield* metered("hits", 10, { aggregationMethod: "COUNT" })
      const { body: calls } = yield* reserve("calls", { quantity: 0.3 })
      assert.deepStrictEqual(rejection(yield* commit(calls.id, { quantity: 0.31 })).places, ["body.quantity"])
      assert.deepStrictEqual(rejection(yield* commit(calls.id, { quantity: -1 })).places, ["body.quantity"])
      assert.strictEqual((yield* commit(calls.id, { quantity: 0.3 })).status, 200)
      const { body: hit } = yield* reserve("hits")
      assert.deepStrictEqual(rejection(yield* commit(hit.id, { quantity: 0.5 })).places, ["body.quantity"])
    }),
  )

  it.effect("can be committed after the license was changed", () =>
    Effect.gen(function* () {
      const { call, commit, metered, reserve, standing } = yield* openReserving
      yield* metered("calls", 10)
      yield* metered("seats", 10)
      const { body: calls } = yield* reserve("calls", { quantity: 8 })
      const { body: seats } = yield* reserve("seats", { quantity: 8 })
      yield* call("PUT", "/licenses/pro/entitlements/calls", { value: 5 })
      yield* call("DELETE", "/licenses/pro/entitlements/seats")
      assert.deepStrictEqual(yield* standing("calls"), [0, 0, 8])
      assert.strictEqual((yield* commit(calls.id)).status, 200)
      assert.deepStrictEqual(yield* standing("calls"), [8, 0, 0])
      assert.strictEqual((yield* commit(seats.id)).status, 200)
      assert.deepStrictEqual((yield* standing("seats"))[0], 8)
    }),
  )

  it.effect("are created once under an idempotency key, and a rejection under one emits its event", () =>
    Effect.gen(function* () {
      const { metered, standing, tenant, thresholds } = yield* openReserving
      const { core } = yield* TestService
      yield* metered("calls", 10)
      const path = "/instances/prod/entitlements/calls/reservations"
      const ask = (key: string, quantity: number) =>
        core("POST", path, { token: tenant.token, body: { quantity }, headers: { "idempotency-key": key } })
      const first = yield* ask("one", 4)
      assert.deepStrictEqual((yield* ask("one", 4)).body, first.body)
      assert.deepStrictEqual(yield* standing("calls"), [0, 6, 4])
      assert.strictEqual((yield* ask("two", 7)).status, 409)
      assert.deepStrictEqual(yield* thresholds, ["CAP_EXCEEDED"])
      assert.strictEqual((yield* ask("two", 6)).status, 201)
    }),
  )

  it.effect("are not visible to other organizations, and are deleted with their instance", () =>
    Effect.gen(function* () {
      const { call, metered, reserve, tenant } = yield* openReserving
      const stranger = yield* openReserving
      yield* metered("calls", 10)
      const { body } = yield* reserve("calls", { quantity: 4 })
      for (const answer of [
        yield* stranger.get(body.id),
        yield* stranger.commit(body.id),
        yield* stranger.release(body.id),
      ]) {
        assert.strictEqual(answer.status, 404)
      }
      assert.strictEqual((yield* call("DELETE", "/instances/prod")).status, 204)
      assert.strictEqual((yield* call("GET", `/reservations/${body.id}`)).status, 404)
      const sql = yield* PgClient.PgClient
      const left = yield* sql`SELECT id FROM usage_reservations WHERE organization_id = ${tenant.organizationId}`
      assert.deepStrictEqual(left, [])
    }),
  )
})

const START = new Date("2031-03-10T10:59:00.000Z").getTime()

/** A shop whose services have a clock of their own. */
const inTime = Effect.fnUntraced(function* <E, R>(
  setUp: (shop: Effect.Success<typeof openMeteredShop>) => Effect.Effect<unknown, unknown, TestService>,
  use: (time: {
    readonly at: (instant: string) => Effect.Effect<void>
    readonly reserve: (quantity: number, expiresInSeconds?: number) => ReturnType<Reservations["Service"]["reserve"]>
    readonly consume: (requested: number) => Effect.Effect<boolean, unknown>
    /** The usage and the remainder. */
    readonly standing: Effect.Effect<readonly [number | null, number | null], unknown>
  }) => Effect.Effect<void, E, R>,
) {
  const shop = yield* openMeteredShop
  yield* setUp(shop)
  const caller = Caller.of({
    organizationId: shop.tenant.organizationId,
    credentialId: "00000000-0000-7000-8000-000000000002",
    ...bySystem,
    scopes: ["write:*"],
  })
  const [reservations, consumption, usage] = [yield* Reservations, yield* Consumption, yield* Checks]
  const asCaller = Effect.provideService(Caller, caller)
  yield* Effect.gen(function* () {
    yield* TestClock.setTime(START)
    yield* use({
      at: (instant) => TestClock.setTime(Date.parse(instant)),
      reserve: (quantity, expiresInSeconds) =>
        reservations.reserve("prod", "calls", {
          quantity,
          ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
        }),
      consume: (requested) =>
        consumption.consume("prod", { checks: [{ entitlement: "calls", requested }], consume: true }).pipe(
          Effect.map(({ checks }) => checks[0]?.allowed === true),
          asCaller,
        ),
      standing: usage.check("prod", { checks: [{ entitlement: "calls" }] }).pipe(
        Effect.map(({ checks: [answer] }) => [answer?.usage ?? null, answer?.remaining ?? null] as const),
        asCaller,
      ),
    })
  }).pipe(asCaller, Effect.provide(TestClock.layer()))
})

layer(TestService.separate, { excludeTestServices: true })("the lifetime of a reservation", (it) => {
  it.effect("ends at the instant of expiry: the quantity is available, and nothing can be committed", () =>
    inTime(
      ({ metered }) => metered("calls", 10),
      ({ at, consume, reserve, standing }) =>
        Effect.gen(function* () {
          const reservations = yield* Reservations
          const held = yield* reserve(8, 60)
          yield* at("2031-03-10T10:59:59.999Z")
          assert.deepStrictEqual(yield* standing, [0, 2])
          assert.isFalse(yield* consume(3))
          assert.strictEqual((yield* reservations.get(held.id)).state, "HELD")
          yield* at("2031-03-10T11:00:00.000Z")
          assert.strictEqual((yield* reservations.get(held.id)).state, "EXPIRED")
          assert.deepStrictEqual(yield* standing, [0, 10])
          assert.isTrue(yield* consume(10))
          for (const late of [reservations.commit(held.id, {}), reservations.release(held.id)]) {
            assert.strictEqual((yield* Effect.flip(late))._tag, "Reservation.NotHeld")
          }
          assert.deepStrictEqual(yield* standing, [10, 0])
        }),
    ),
  )

  it.effect("is not extended by a node whose clock is behind: a quantity that was granted again is not committed", () =>
    inTime(
      ({ metered }) => metered("calls", 10),
      ({ at, consume, reserve, standing }) =>
        Effect.gen(function* () {
          const reservations = yield* Reservations
          const held = yield* reserve(8, 60)
          yield* at("2031-03-10T11:00:00.000Z")
          assert.isTrue(yield* consume(10))
          yield* at("2031-03-10T10:59:59.990Z")
          assert.strictEqual((yield* Effect.flip(reservations.commit(held.id, {})))._tag, "Reservation.NotHeld")
          assert.deepStrictEqual(yield* standing, [10, 0])
        }),
    ),
  )

  it.effect("may reach into another period: it is reserved there too, and counted in that of the commit", () =>
    inTime(
      ({ metered }) => metered("calls", 10, { resetPeriod: "HOUR" }),
      ({ at, consume, reserve, standing }) =>
        Effect.gen(function* () {
          const reservations = yield* Reservations
          assert.isTrue(yield* consume(4))
          const held = yield* reserve(6, 600)
          assert.isFalse(yield* consume(1))
          yield* at("2031-03-10T11:00:00.000Z")
          assert.deepStrictEqual(yield* standing, [0, 4])
          assert.isFalse(yield* consume(5))
          assert.isTrue(yield* consume(4))
          yield* reservations.commit(held.id, { quantity: 5 })
          assert.deepStrictEqual(yield* standing, [9, 1])
          yield* at("2031-03-10T10:59:59.000Z")
          assert.deepStrictEqual(yield* standing, [4, 6])
        }),
    ),
  )

  it.effect("does not affect late reports for an earlier period", () =>
    inTime(
      ({ metered }) => metered("calls", 10, { resetPeriod: "HOUR" }),
      ({ reserve }) =>
        Effect.gen(function* () {
          const reports = yield* UsageReports
          yield* reserve(6, 600)
          const before = new Date("2031-03-10T09:30:00.000Z")
          const entry = yield* reports.report("prod", "calls", { value: 10, timestamp: before })
          assert.strictEqual(entry.usageValue.value, 10)
          const during = new Date("2031-03-10T10:30:00.000Z")
          const rejected = yield* Effect.flip(reports.report("prod", "calls", { value: 5, timestamp: during }))
          assert.strictEqual(rejected._tag, "ReportUsage.ThresholdExceeded")
          const ahead = new Date("2031-03-10T11:01:00.000Z")
          const early = yield* Effect.flip(reports.report("prod", "calls", { value: 5, timestamp: ahead }))
          assert.strictEqual(early._tag, "ReportUsage.ThresholdExceeded")
        }),
    ),
  )

  it.effect("is seen by a check of the past as it was at the instant", () =>
    inTime(
      ({ metered }) => metered("calls", 10),
      ({ at, reserve }) =>
        Effect.gen(function* () {
          const usage = yield* Checks
          yield* reserve(6, 60)
          yield* at("2031-03-10T12:00:00.000Z")
          const remaining = (instant: string) =>
            Effect.map(
              usage.check("prod", { checks: [{ entitlement: "calls" }], at: new Date(instant) }),
              ({ checks }) => checks[0]?.remaining,
            )
          assert.strictEqual(yield* remaining("2031-03-10T10:58:59.999Z"), 10)
          assert.strictEqual(yield* remaining("2031-03-10T10:59:00.000Z"), 4)
          assert.strictEqual(yield* remaining("2031-03-10T11:00:00.000Z"), 10)
        }),
    ),
  )

  it.effect("leaves rows that are deleted in batches once they are old enough, and no others", () =>
    inTime(
      ({ metered }) => metered("calls", 100),
      ({ at, reserve }) =>
        Effect.gen(function* () {
          const [reservations, repo] = [yield* Reservations, yield* ReservationsRepo]
          // The reservations of other tests have ended by then.
          yield* repo.deleteFinished(new Date(START + DAY_MS + 1), 1000)
          const [committed, released, expired] = [yield* reserve(1, 60), yield* reserve(1, 60), yield* reserve(1, 60)]
          yield* at("2031-03-10T10:59:30.000Z")
          const young = yield* reserve(1, 86_400)
          yield* reservations.commit(committed.id, {})
          yield* reservations.release(released.id)
          yield* at("2031-03-11T10:59:29.000Z")
          const before = new Date("2031-03-11T10:59:20.000Z")
          assert.strictEqual(yield* repo.deleteFinished(before, 2), 2)
          assert.strictEqual(yield* repo.deleteFinished(before, 2), 1)
          assert.strictEqual(yield* repo.deleteFinished(before, 2), 0)
          assert.strictEqual((yield* Effect.flip(reservations.get(expired.id)))._tag, "Reservation.NotFound")
          assert.strictEqual((yield* reservations.get(young.id)).state, "HELD")
        }),
    ),
  )
})
