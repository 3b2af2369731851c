import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Checks } from "../../../src/domains/usage/check/Service.ts"
import { Consumption } from "../../../src/domains/usage/check/Consumption.ts"
import { ReservationsRepo } from "../../../src/domains/usage/reservations/Repo.ts"
import { DAY_MS, HOUR_MS } from "../../../src/kernel/values/Timestamp.ts"
import { at, payloadOf } from "../../offline-bundles/Site.ts"
import { TestService } from "../../support/TestService.ts"
import { openTrancheShop } from "./TrancheShop.ts"

const DAILY = { resetPeriod: "DAY", resetAnchor: "CALENDAR" }

/** Noon of a day from now on, so that no decision of the present is later. */
const noonIn = (days: number): number => (Math.floor(Date.now() / DAY_MS) + days) * DAY_MS + DAY_MS / 2

const open = Effect.gen(function* () {
  const shop = yield* openTrancheShop
  const [checks, consumption] = [yield* Checks, yield* Consumption]
  const { asCaller } = shop
  return {
    ...shop,
    /** What a check at an instant says of usage and what remains. */
    seenAt: (millis: number, entitlement: string, asOf?: number) =>
      Effect.map(
        at(millis)(
          asCaller(
            checks.check("prod", {
              checks: [{ entitlement, requested: 0 }],
              ...(asOf === undefined ? {} : { at: new Date(asOf) }),
            }),
          ),
        ),
        (result) => result.checks.map(({ remaining, usage }) => [usage, remaining])[0],
      ),
    consumeAt: (millis: number, entitlement: string, requested: number) =>
      Effect.map(
        at(millis)(asCaller(consumption.consume("prod", { checks: [{ entitlement, requested }], consume: true }))),
        (result) => result.checks[0]?.allowed,
      ),
  }
})

layer(TestService.separate, { excludeTestServices: true })("the time of a tranche", (it) => {
  it.effect("is a day after the last refill: then nothing is held, and a late line counts above the cap", () =>
    Effect.gen(function* () {
      const { consumeAt, eventsOf, holder, metered, seenAt } = yield* open
      yield* metered("exports", 10)
      const product = holder()
      const start = noonIn(1)
      const tranches = [{ entitlement: "exports", need: "6" }]
      const first = yield* product.refillAt(start, { tranches })
      assert.strictEqual(first.tranches[0]?.heldUntil.getTime(), start + DAY_MS)
      const again = start + 2 * HOUR_MS
      yield* product.refillAt(again, { tranches: [{ entitlement: "exports", keep: "6" }] })
      assert.deepStrictEqual(yield* seenAt(start + DAY_MS, "exports"), [0, 4])
      assert.deepStrictEqual(yield* seenAt(again + DAY_MS - 1, "exports"), [0, 4])
      assert.isTrue(yield* consumeAt(again + DAY_MS, "exports", 10))

      yield* product.spend("exports", 6, again + HOUR_MS)
      const late = again + DAY_MS + HOUR_MS
      const settled = yield* product.refillAt(late, { tranches: [{ entitlement: "exports", keep: "0", need: "1" }] })
      assert.deepStrictEqual([settled.accepted, settled.tranches[0]?.satisfied], [1, false])
      assert.deepStrictEqual(yield* seenAt(late, "exports"), [16, 0])
      assert.strictEqual((yield* eventsOf("ENTITLEMENT_USAGE_CAP_EXCEEDED")).length, 1)
    }),
  )

  it.effect(
    "is its period: one of the next period is granted from a minute before it, and holds nothing of this one",
    () =>
      Effect.gen(function* () {
        const { holder, metered, seenAt } = yield* open
        yield* metered("exports", 10, DAILY)
        const product = holder()
        const midnight = noonIn(1) + DAY_MS / 2
        const next = new Date(midnight).toISOString()
        const ofNext = { entitlement: "exports", periodStart: new Date(midnight), need: "8" } as unknown as object
        yield* product.refillAt(midnight - 70_000, { tranches: [{ entitlement: "exports", need: "9" }] })
        const early = yield* Effect.flip(product.refillAt(midnight - 60_001, { tranches: [ofNext] }))
        assert.deepInclude(early, { _tag: "Request.ValidationFailed" })
        const both = yield* product.refillAt(midnight - 60_000, {
          tranches: [{ entitlement: "exports", keep: "9" }, ofNext],
        })
        assert.deepStrictEqual(
          both.tranches.map(({ periodStart, unspent }) => [periodStart.toISOString(), unspent]),
          [
            [new Date(midnight - DAY_MS).toISOString(), "9"],
            [next, "8"],
          ],
        )
        assert.deepStrictEqual(yield* seenAt(midnight - 1, "exports"), [0, 1])
        assert.deepStrictEqual(yield* seenAt(midnight, "exports"), [0, 2])

        // What was spent before midnight counts there, and the new tranche goes on alone.
        yield* product.spend("exports", 5, midnight - 1)
        yield* product.spend("exports", 1, midnight)
        const after = yield* product.refillAt(midnight + 1000, { tranches: [{ entitlement: "exports", keep: "7" }] })
        assert.deepStrictEqual(
          after.tranches.map(({ unspent }) => unspent),
          ["7"],
        )
        assert.deepStrictEqual(yield* seenAt(midnight + 2000, "exports"), [1, 2])
        assert.deepStrictEqual(yield* seenAt(midnight + 2000, "exports", midnight - 1), [5, 1])
      }),
  )

  it.effect(
    "is asked for until ten seconds after its period: it is decided as of its end, and holds nothing of the next one",
    () =>
      Effect.gen(function* () {
        const { consumeAt, holder, metered, seenAt } = yield* open
        yield* metered("exports", 10, DAILY)
        const [product, other] = [holder(), holder()]
        const midnight = noonIn(1) + DAY_MS / 2
        const of = (days: number, amounts: object) => ({
          tranches: [{ entitlement: "exports", periodStart: new Date(midnight - days * DAY_MS), ...amounts }],
        })
        yield* product.refillAt(midnight - 1000, of(1, { need: "6" }))
        yield* product.spend("exports", 4, midnight - 1)
        const refilled = yield* product.refillAt(midnight + 9_000, of(1, { keep: "2", need: "3" }))
        assert.deepStrictEqual(
          [refilled.accepted, ...refilled.tranches.map(({ spendUntil, unspent }) => [unspent, spendUntil.getTime()])],
          [1, ["3", midnight - 1 + HOUR_MS]],
        )
        assert.deepStrictEqual(payloadOf(refilled.snapshot).tranche.of, {
          exports: { [new Date(midnight - DAY_MS).toISOString()]: "3" },
        })
        // A row that begins after the period holds units of it all the same.
        const needs = yield* Effect.forEach(["4", "3", "4"], (need) =>
          Effect.map(other.refillAt(midnight + 9_500, of(1, { keep: "3", need })), ({ tranches }) => tranches[0]),
        )
        assert.deepStrictEqual(
          needs.map((tranche) => [tranche?.unspent, tranche?.satisfied]),
          [
            ["0", false],
            ["3", true],
            ["3", false],
          ],
        )
        assert.deepStrictEqual(yield* seenAt(midnight + 9_500, "exports", midnight - 1), [4, 0])
        assert.deepStrictEqual(yield* seenAt(midnight + 9_500, "exports"), [0, 10])
        assert.isTrue(yield* consumeAt(midnight + 9_500, "exports", 10))

        yield* product.refillAt(midnight + 10_000, of(1, { keep: "3" }))
        for (const [millis, days] of [
          [10_001, 1],
          [11_000, 1],
          [9_000, 2],
        ] as const) {
          const late = yield* Effect.flip(product.refillAt(midnight + millis, of(days, { keep: "3" })))
          assert.deepInclude(late, { _tag: "Request.ValidationFailed" }, `${millis}`)
        }

        // Its product goes on by a clock that is behind. What it spends is counted once, and in that period.
        yield* product.spend("exports", 3, midnight - 1)
        yield* other.spend("exports", 3, midnight - 1)
        for (const each of [product, other]) {
          yield* each.refillAt(midnight + 20_000, {})
          each.unsettle(0)
          assert.strictEqual((yield* each.refillAt(midnight + 21_000, {})).accepted, 0)
        }
        assert.deepStrictEqual(yield* seenAt(midnight + 22_000, "exports", midnight - 1), [10, 0])
        assert.deepStrictEqual(yield* seenAt(midnight + 22_000, "exports"), [10, 0])
      }),
  )

  it.effect("is not used for more than is granted in the next period, where an override ends with this one", () =>
    Effect.gen(function* () {
      const { call, holder, metered } = yield* open
      yield* metered("exports", 10, DAILY)
      const midnight = noonIn(1) + DAY_MS / 2
      const endsAt = new Date(midnight).toISOString()
      yield* call("PUT", "/instances/prod/entitlements/exports/override", { mode: "ADD", value: 90, endsAt })
      const periodStart = new Date(midnight) as unknown as string
      const response = yield* holder().refillAt(midnight - 30_000, {
        tranches: [
          { entitlement: "exports", need: "50" },
          { entitlement: "exports", periodStart, need: "11" },
        ],
      })
      assert.deepStrictEqual(
        response.tranches.map(({ satisfied, unspent }) => [unspent, satisfied]),
        [
          ["50", true],
          ["0", false],
        ],
      )
      const ended = yield* holder().refillAt(midnight + 5_000, {
        tranches: [
          { entitlement: "exports", periodStart: new Date(midnight - DAY_MS), need: "50" },
          { entitlement: "exports", need: "11" },
        ],
      })
      assert.deepStrictEqual(
        ended.tranches.map(({ satisfied, unspent }) => [unspent, satisfied]),
        [
          ["50", true],
          ["0", false],
        ],
      )
    }),
  )

  it.effect("reaches into the days of grace, and not beyond the license", () =>
    Effect.gen(function* () {
      const { call, holder, metered } = yield* open
      yield* metered("exports", 10)
      const end = noonIn(2)
      yield* call("PATCH", "/instances/prod", { endLicenseDate: new Date(end).toISOString(), graceDays: 1 })
      const product = holder()
      const reasons = yield* Effect.forEach([end - 1, end, end + DAY_MS], (millis) =>
        Effect.map(product.refillAt(millis, { tranches: [{ entitlement: "exports", need: "2" }] }), ({ tranches }) =>
          tranches.map(({ reason, unspent }) => [reason, unspent]),
        ),
      )
      assert.deepStrictEqual(reasons.flat(), [
        ["GRANTED", "2"],
        ["IN_GRACE", "2"],
        ["LICENSE_EXPIRED", "0"],
      ])
    }),
  )

  it.effect("is over for a holder that has not refilled for an hour, until it names what it keeps", () =>
    Effect.gen(function* () {
      const { holder, metered, seenAt } = yield* open
      yield* metered("exports", 10)
      const product = holder()
      const start = noonIn(1)
      yield* product.refillAt(start, { tranches: [{ entitlement: "exports", need: "6" }] })
      yield* product.spend("exports", 1, start + 1000)
      yield* product.refillAt(start + HOUR_MS, {})
      assert.deepStrictEqual(yield* seenAt(start + HOUR_MS, "exports"), [1, 4])
      const kept = yield* product.refillAt(start + 2 * HOUR_MS, { tranches: [{ entitlement: "exports", keep: "9" }] })
      assert.strictEqual(kept.tranches[0]?.unspent, "5")
    }),
  )

  it.effect("is no reason to delete it while it is refilled; a week after its hold it is gone", () =>
    Effect.gen(function* () {
      const { holder, metered, rows } = yield* open
      const repo = yield* ReservationsRepo
      yield* metered("exports", 10)
      const product = holder()
      const start = noonIn(1)
      for (const day of [0, 1, 5, 9, 9.5]) {
        yield* product.refillAt(start + day * DAY_MS, { tranches: [{ entitlement: "exports", keep: "6", need: "6" }] })
      }
      const last = start + 9.5 * DAY_MS
      const sweep = (millis: number) => repo.deleteFinished(new Date(millis - 7 * DAY_MS), 100)
      yield* sweep(last + DAY_MS)
      assert.strictEqual((yield* rows("exports")).length, 1)
      yield* sweep(last + 8 * DAY_MS)
      assert.strictEqual((yield* rows("exports")).length, 0)
    }),
  )

  it.effect("does not take what an offline bundle reserves for a site of the instance", () =>
    Effect.gen(function* () {
      const { holder, issue, metered, seenAt } = yield* open
      yield* metered("exports", 10)
      const start = noonIn(1)
      const issued = yield* issue({ allowances: [{ entitlement: "exports", quantity: 4 }] })
      assert.strictEqual(issued.status, 201, issued.text)
      const product = holder()
      const tranches = [{ entitlement: "exports", need: "3" }]
      yield* product.refillAt(start, { tranches })
      yield* product.spend("exports", 3, start + 1000)
      yield* product.refillAt(start + 2000, {})
      assert.deepStrictEqual(yield* seenAt(start + 2000, "exports"), [3, 3])
    }),
  )
})
