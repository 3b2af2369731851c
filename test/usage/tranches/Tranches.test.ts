import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { cover } from "../../../src/offline/index.ts"
import { payloadOf, rejection } from "../../offline-bundles/Site.ts"
import { TestService } from "../../support/TestService.ts"
import { claimOf, openTrancheShop, outcomes } from "./TrancheShop.ts"

const need = (entitlement: string, amount: string) => ({ entitlement, need: amount })

layer(TestService.layer, { excludeTestServices: true })("a tranche", (it) => {
  it.effect("is for its holder alone: others leave room for it, and its product spends it without a request", () =>
    Effect.gen(function* () {
      const { call, consume, holder, metered, rows, standing, verified } = yield* openTrancheShop
      yield* metered("exports", 10)
      const product = holder()
      const response = yield* product.refill({ tranches: [need("exports", "6")] })
      assert.deepStrictEqual(outcomes(response), [["6", true]])
      const { heldUntil, periodStart, reason, spendUntil } = response.body.tranches[0]
      assert.strictEqual(reason, "GRANTED")
      assert.strictEqual(Date.parse(heldUntil) - Date.parse(spendUntil), 23 * 3_600_000)
      assert.deepStrictEqual(yield* standing("exports"), [0, 6])
      assert.isFalse(yield* consume("exports", 5))
      assert.isTrue(yield* consume("exports", 4))

      const { claims } = yield* verified(response.body.snapshot)
      const { head, lines } = product.position()
      assert.deepStrictEqual(claims.tranche, {
        source: product.source,
        lines,
        head,
        until: Math.floor(Date.parse(spendUntil) / 1000),
        of: { exports: { [periodStart]: "6" } },
      })
      const local = { source: product.source, positions: [[lines, head]] as const, spent: {} }
      const spends = cover(claims, [{ entitlement: "exports", requested: "6" }], new Date(), local)
      assert.deepStrictEqual(spends, { spends: [{ entitlement: "exports", period: periodStart, amount: "6" }] })

      const [row] = yield* rows("exports")
      for (const [method, path] of [
        ["GET", ""],
        ["DELETE", ""],
        ["POST", "/commit"],
      ] as const) {
        const answer = yield* call(method, `/reservations/${row?.id}${path}`)
        assert.deepStrictEqual(rejection(answer), [404, "Reservation.NotFound"])
      }
      assert.deepStrictEqual(yield* standing("exports"), [4, 6])
    }),
  )

  it.effect("is settled by lines of its ledger, which count once, however often they are sent", () =>
    Effect.gen(function* () {
      const { eventsOf, holder, metered, standing } = yield* openTrancheShop
      yield* metered("exports", 10)
      const product = holder()
      yield* product.refill({ tranches: [need("exports", "6")] })
      yield* product.spend("exports", 4)
      // The response is lost, so its product gives back what it was granted.
      const lost = yield* product.refill({ tranches: [{ entitlement: "exports", keep: "2", need: "5" }] }, true)
      assert.deepStrictEqual([lost.body.accepted, outcomes(lost)], [1, [["5", true]]])
      assert.deepStrictEqual(yield* standing("exports"), [4, 5])
      const again = yield* product.refill({ tranches: [{ entitlement: "exports", keep: "2" }] })
      assert.deepStrictEqual([again.body.accepted, again.body.duplicates, outcomes(again)], [0, 1, [["2", true]]])
      assert.deepStrictEqual(yield* standing("exports"), [4, 2])
      assert.strictEqual(claimOf(again).lines, 1)
      assert.deepStrictEqual(yield* eventsOf("OFFLINE_USAGE_UPLOADED"), [])
    }),
  )

  it.effect("that is not named goes on, with what its lines left", () =>
    Effect.gen(function* () {
      const { holder, metered } = yield* openTrancheShop
      yield* metered("exports", 10)
      yield* metered("jobs", 10, { aggregationMethod: "COUNT" })
      const product = holder()
      yield* product.refill({ tranches: [need("exports", "6"), need("jobs", "3")] })
      yield* product.append([
        { type: "jobs", value: 1 },
        { type: "exports", value: "0.5" },
      ])
      const response = yield* product.refill()
      assert.deepStrictEqual(outcomes(response), [])
      const { of } = claimOf(response)
      assert.deepStrictEqual(
        ["exports", "jobs"].map((slug) => Object.values(of[slug])),
        [["5.5"], ["2"]],
      )
    }),
  )

  it.effect("gets its need as a whole or not at all, and emits the event of the cap once", () =>
    Effect.gen(function* () {
      const { eventsOf, holder, metered, standing } = yield* openTrancheShop
      yield* metered("exports", 10)
      const product = holder()
      for (const turn of [1, 2]) {
        const response = yield* product.refill({ tranches: [need("exports", "11")] })
        assert.deepStrictEqual(outcomes(response), [["0", false]], `${turn}`)
        assert.strictEqual(response.body.tranches[0].reason, "LIMIT_REACHED")
      }
      assert.strictEqual((yield* eventsOf("ENTITLEMENT_USAGE_CAP_EXCEEDED")).length, 1)
      assert.deepStrictEqual(yield* standing("exports"), [0, 0])
    }),
  )

  it.effect("lets the last unit be used, by whichever of many holders needs it", () =>
    Effect.gen(function* () {
      const { holder, metered, standing } = yield* openTrancheShop
      yield* metered("exports", 25)
      const products = Array.from({ length: 10 }, () => holder())
      let spent = 0
      for (let turn = 0; spent < 25 && turn < 10; turn++) {
        for (const product of products) {
          const response = yield* product.refill({ tranches: [{ entitlement: "exports", need: "1", want: "9" }] })
          const [unspent, satisfied] = outcomes(response)[0] ?? assert.fail()
          if (!satisfied) continue
          yield* product.spend("exports", unspent)
          spent += Number(unspent)
        }
      }
      for (const product of products) yield* product.refill()
      assert.deepStrictEqual(yield* standing("exports"), [25, 0])
    }),
  )

  it.effect("of many holders at once never exceeds the cap together with other usage", () =>
    Effect.gen(function* () {
      const { consume, holder, metered, standing } = yield* openTrancheShop
      yield* metered("exports", 100, {}, 10)
      yield* metered("jobs", 50)
      const products = Array.from({ length: 12 }, () => holder())
      const work = products.map((product, index) =>
        Effect.gen(function* () {
          for (let turn = 0; turn < 4; turn++) {
            // In both orders, so that a lock out of order would be a deadlock.
            const tranches = [need("exports", "7"), need("jobs", "3")]
            const answer = yield* product.refill({ tranches: index % 2 === 0 ? tranches : tranches.toReversed() })
            assert.strictEqual(answer.status, 200, answer.text)
            for (const { entitlement, unspent } of answer.body.tranches) {
              if (unspent !== "0") yield* product.spend(entitlement, unspent)
            }
          }
        }),
      )
      yield* Effect.all([...work, ...Array.from({ length: 20 }, () => consume("exports", 2))], { concurrency: 16 })
      for (const product of products) yield* product.refill({ close: true })
      const [[exports = 0, held], [jobs = 0]] = [yield* standing("exports"), yield* standing("jobs")]
      assert.strictEqual(held, 0)
      assert.isAtMost(exports, 110)
      assert.isAbove(exports, 103)
      assert.isAtMost(jobs, 50)
      assert.isAbove(jobs, 47)
    }),
  )

  it.effect("stays a guarantee if the limit is lowered, until its holder gives it back", () =>
    Effect.gen(function* () {
      const { call, holder, metered, standing } = yield* openTrancheShop
      yield* metered("exports", 10)
      const product = holder()
      yield* product.refill({ tranches: [need("exports", "8")] })
      yield* call("PUT", "/instances/prod/entitlements/exports/override", { mode: "SET", value: 2 })
      const kept = yield* product.refill({ tranches: [{ entitlement: "exports", keep: "8", need: "8", want: "9" }] })
      assert.deepStrictEqual([outcomes(kept), kept.body.tranches[0].reason], [[["8", true]], "GRANTED"])
      const less = yield* product.refill({ tranches: [{ entitlement: "exports", keep: "1", need: "2" }] })
      assert.deepStrictEqual(outcomes(less), [["2", true]])
      assert.deepStrictEqual(yield* standing("exports"), [0, 2])
    }),
  )

  it.effect("of what is unlimited is not needed, and of what is not granted there is none", () =>
    Effect.gen(function* () {
      const { entitlement, holder, metered } = yield* openTrancheShop
      yield* metered("exports", -1)
      yield* entitlement("beta")
      const response = yield* holder().refill({ tranches: [need("exports", "5"), need("beta", "1")] })
      assert.deepStrictEqual(outcomes(response), [
        ["0", true],
        ["0", false],
      ])
      assert.deepStrictEqual(
        response.body.tranches.map(({ reason }: { reason: string }) => reason),
        ["UNLIMITED", "NOT_GRANTED"],
      )
      assert.deepStrictEqual(claimOf(response).of, {})
    }),
  )

  it.effect("is given back when its ledger is closed, which takes no more lines then", () =>
    Effect.gen(function* () {
      const { holder, metered, standing } = yield* openTrancheShop
      yield* metered("exports", 10)
      const product = holder()
      yield* product.refill({ tranches: [need("exports", "6")] })
      yield* product.spend("exports", 2)
      const lost = yield* product.refill({ close: true }, true)
      assert.deepStrictEqual([lost.status, lost.body.closed, claimOf(lost).of], [200, true, {}])
      assert.deepStrictEqual(yield* standing("exports"), [2, 0])
      assert.strictEqual((yield* product.refill({ close: true })).body.duplicates, 1)
      const more = yield* product.refill({ tranches: [need("exports", "1")] })
      assert.deepStrictEqual(rejection(more), [409, "RefillTranches.LedgerClosed"])
      yield* product.spend("exports", 1)
      assert.deepStrictEqual(rejection(yield* product.refill()), [409, "RefillTranches.LedgerClosed"])
    }),
  )

  it.effect("of a copy is found out by its lines: nothing of the request is stored, and the event tells of it", () =>
    Effect.gen(function* () {
      const { call, eventsOf, holder, metered, path, standing } = yield* openTrancheShop
      yield* metered("exports", 10)
      const product = holder()
      const copy = holder(product.source)
      yield* product.refill({ tranches: [need("exports", "6")] })
      yield* copy.spend("exports", 3)
      yield* product.spend("exports", 4)
      yield* copy.refill()
      const forked = yield* product.refill({ tranches: [need("exports", "5")] })
      assert.deepStrictEqual(rejection(forked), [409, "RefillTranches.LedgerForked"])
      assert.deepStrictEqual(yield* standing("exports"), [3, 3])
      assert.strictEqual((yield* eventsOf("OFFLINE_LEDGER_FORKED")).length, 1)

      yield* copy.spend("exports", 1)
      const [, second] = [yield* copy.spend("exports", 1), copy.body({}).lines.at(-1)]
      const gap = yield* call("POST", path, { source: product.source, lines: [second] })
      assert.deepStrictEqual(rejection(gap), [409, "RefillTranches.LedgerGap"])
    }),
  )

  it.effect("names only what can be set aside, in a period that can be spent", () =>
    Effect.gen(function* () {
      const { call, entitlement, holder, metered, path } = yield* openTrancheShop
      yield* metered("exports", 10)
      yield* metered("jobs", 10, { aggregationMethod: "COUNT" })
      yield* metered("peak", 10, { aggregationMethod: "MAX" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      const response = yield* holder().refill({
        tranches: [
          need("exports", "1"),
          need("nowhere", "1"),
          need("peak", "1"),
          need("sso", "1"),
          need("jobs", "1.5"),
          { entitlement: "exports", need: "1", periodStart: "2020-01-01T00:00:00Z" },
          need("exports", "2"),
          { entitlement: "exports", keep: "1234567890.1234567890" },
        ],
      })
      assert.deepStrictEqual(
        [response.status, response.body.errors.map(({ location }: { location: string }) => location)],
        [
          422,
          [
            "body.tranches[1].entitlement",
            "body.tranches[2].entitlement",
            "body.tranches[3].entitlement",
            "body.tranches[4].need",
            "body.tranches[5].periodStart",
            "body.tranches[6]",
            "body.tranches[7].keep",
            "body.tranches[7]",
          ],
        ],
      )
      const wrong = yield* call("POST", path, { source: holder().source, lines: ["{}"], tranches: [] })
      assert.strictEqual(wrong.body.errors[0].location, "body.lines[0]")
    }),
  )

  it.effect("is granted once under an idempotency key", () =>
    Effect.gen(function* () {
      const { holder, metered, path, service, standing, tenant } = yield* openTrancheShop
      yield* metered("exports", 10)
      const body = holder().body({ tranches: [need("exports", "4")] })
      const send = service.core("POST", path, { token: tenant.token, body, headers: { "idempotency-key": "refill-1" } })
      const [first, second] = [yield* send, yield* send]
      assert.strictEqual(first.status, 200, first.text)
      assert.strictEqual(second.text, first.text)
      assert.deepStrictEqual(payloadOf(first.body.snapshot).tranche.lines, 0)
      assert.deepStrictEqual(yield* standing("exports"), [0, 4])
    }),
  )

  it.effect("is listed for its instance until its hold ends, and a vendor can end it", () =>
    Effect.gen(function* () {
      const { call, holder, metered, path, service, standing } = yield* openTrancheShop
      yield* metered("exports", 10)
      const [one, other] = [holder(), holder()]
      yield* one.refill({ tranches: [need("exports", "4")] })
      yield* other.refill({ tranches: [need("exports", "5")] })
      yield* one.spend("exports", 1)
      yield* one.refill()
      const { items } = (yield* call("GET", path)).body
      assert.deepStrictEqual(
        items.map(({ entitlement, holder: source, lines, unspent }: Record<string, unknown>) => [
          source,
          entitlement,
          unspent,
          lines,
        ]),
        [one, other]
          .map((each) => [each.source, "exports", each === one ? "3" : "5", each === one ? 1 : 0])
          .toSorted(([left], [right]) => (String(left) < String(right) ? -1 : 1)),
      )
      const pages = [yield* call("GET", `${path}?limit=1`)]
      pages.push(yield* call("GET", `${path}?limit=1&cursor=${pages[0]?.body.nextCursor}`))
      assert.deepStrictEqual(
        pages.flatMap(({ body }) => body.items),
        items,
      )

      const key = (yield* call("POST", "/instances/prod/keys", { name: "Prod" })).body.token
      const byKey = yield* service.core("DELETE", `${path}/${one.source}`, { token: key })
      assert.strictEqual(byKey.status, 403)
      assert.strictEqual((yield* call("DELETE", `${path}/${one.source}`)).status, 204)
      assert.deepStrictEqual(rejection(yield* call("DELETE", `${path}/${one.source}`)), [404, "Tranche.NotFound"])
      assert.deepStrictEqual(yield* standing("exports"), [1, 5])
      const next = yield* one.refill({ tranches: [{ entitlement: "exports", keep: "3", need: "3" }] })
      assert.deepStrictEqual([outcomes(next), yield* standing("exports")], [[["3", true]], [1, 8]])
    }),
  )
})
