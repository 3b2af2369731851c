import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { OfflineRetention } from "../../src/domains/offline/Retention.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { newSource, openLedgerSite } from "./LedgerSite.ts"
import { at, iso, rejection } from "./Site.ts"

layer(TestService.layer, { excludeTestServices: true })("the upload of a ledger", (it) => {
  it.effect("tells what all ledgers brought above the greatest allowance of a period", () =>
    Effect.gen(function* () {
      const { allow, eventsOf, issuedAt, lines, metered, upload } = yield* openLedgerSite
      const daily = yield* metered("daily", -1, { resetPeriod: "DAY" })
      const hits = yield* metered("hits", -1, { aggregationMethod: "COUNT" })
      yield* metered("free", -1)
      // Two of the first days; a smaller one for all; one that begins later.
      yield* allow(daily.id, 1, 10, -1, 2)
      yield* allow(daily.id, 2, 4, -1, 20)
      yield* allow(hits.id, 2, 2)
      const midnight = Math.ceil(issuedAt / DAY_MS) * DAY_MS
      const day = (days: number) => ({ type: "daily", time: midnight + days * DAY_MS })
      const source = newSource()
      const written = yield* lines(source, [
        { ...day(0), value: 10 },
        { ...day(0), value: "2.5" },
        { ...day(5), value: 4 },
        { ...day(6), value: 5 },
        { ...day(30), value: 100 },
        { type: "hits", value: 1 },
        { type: "free", value: 1_000 },
      ])
      const first = yield* upload(source, written.slice(0, 1))
      assert.deepStrictEqual(first.body.overAllowance, [])
      const over = [
        { entitlement: "daily", periodStart: iso(midnight), quantity: 2.5 },
        { entitlement: "daily", periodStart: iso(midnight + 6 * DAY_MS), quantity: 1 },
      ]
      const second = yield* upload(source, written)
      assert.deepStrictEqual(second.body.overAllowance, over)
      // The answer may have been lost.
      assert.deepStrictEqual((yield* upload(source, written)).body.overAllowance, over)
      const another = newSource()
      const more = yield* lines(another, [
        { type: "hits", value: 1 },
        { type: "hits", value: 1 },
      ])
      const { body } = yield* upload(another, more)
      assert.deepStrictEqual(
        body.overAllowance.map(({ entitlement, quantity }: Record<string, unknown>) => [entitlement, quantity]),
        [["hits", 1]],
      )
      const events = yield* eventsOf("OFFLINE_USAGE_UPLOADED")
      assert.deepStrictEqual(
        events.map(({ data }: { data: { overAllowance: unknown } }) => data.overAllowance),
        [[], over, body.overAllowance],
      )
    }),
  )

  it.effect("turns what an allowance holds into usage, so that others can use as much as before", () =>
    Effect.gen(function* () {
      const { call, issued, lines, metered, upload } = yield* openLedgerSite
      yield* metered("exports", 500)
      const { id: bundleId } = yield* issued({ allowances: [{ entitlement: "exports", quantity: 100 }] })
      const state = Effect.fnUntraced(function* () {
        const { body } = yield* call("POST", "/instances/prod/check", { checks: [{ entitlement: "exports" }] })
        return [body.checks[0].usage, body.checks[0].remaining]
      })
      assert.deepStrictEqual(yield* state(), [0, 400])
      const source = newSource()
      const written = yield* lines(
        source,
        [30, 70, 10].map((value) => ({ type: "exports", value, bundleId })),
      )
      const seen: Array<unknown> = []
      for (const line of written) {
        const { body } = yield* upload(source, [line])
        seen.push([...(yield* state()), ...body.overAllowance.map(({ quantity }: { quantity: number }) => quantity)])
      }
      assert.deepStrictEqual(seen, [
        [30, 400],
        [100, 400],
        [110, 390, 10],
      ])
      // The greater allowance takes over. It stays when a ledger of the earlier bundle is closed.
      const more = yield* issued({ allowances: [{ entitlement: "exports", quantity: 200 }] })
      assert.deepStrictEqual(yield* state(), [110, 300])
      const earlier = newSource()
      yield* upload(earlier, yield* lines(earlier, [{ type: "exports", value: 1, bundleId }]), { close: true })
      assert.deepStrictEqual(yield* state(), [111, 300])
      const last = newSource()
      yield* upload(last, yield* lines(last, [{ type: "exports", value: 1, bundleId: more.id }]), { close: true })
      assert.deepStrictEqual(yield* state(), [112, 388])
    }),
  )

  it.effect("that closes it ends the allowances of the bundles that it named, and of those before", () =>
    Effect.gen(function* () {
      const { allow, bundle, eventsOf, issued, ledgers, lines, metered, openAllowances, upload, used } =
        yield* openLedgerSite
      const { id } = yield* metered("api-calls", -1)
      const named = yield* issued()
      const later = yield* issued()
      assert.deepStrictEqual([bundle.sequence, named.sequence, later.sequence], [1, 2, 3])
      for (const sequence of [1, 2, 3]) yield* allow(id, sequence, 10)
      const unknown = newSource()
      const nowhere = yield* lines(unknown, [{ type: "api-calls", value: 1, bundleId: unknown.slice(-36) }])
      const none = yield* upload(unknown, nowhere, { close: true })
      assert.deepStrictEqual([none.body.closed, none.body.accepted], [true, 0])
      assert.deepStrictEqual(yield* openAllowances, [1, 2, 3])

      const source = newSource()
      const uses = [
        { type: "api-calls", value: 1, bundleId: named.id },
        { type: "api-calls", value: 12 },
      ]
      const written = yield* lines(source, uses)
      const open = yield* upload(source, written.slice(0, 1))
      assert.deepStrictEqual([open.body.closed, yield* openAllowances], [false, [1, 2, 3]])
      const closing = yield* upload(source, written, { close: true })
      assert.deepStrictEqual([closing.body.closed, closing.body.accepted], [true, 1])
      // What is ended was in force when the site used it.
      assert.deepStrictEqual(closing.body.overAllowance[0].quantity, 3)
      assert.deepStrictEqual(yield* openAllowances, [3])

      // Repetitions are answered, and change nothing.
      const again = yield* upload(source, written, { close: true })
      assert.deepStrictEqual([again.body.closed, again.body.accepted, again.body.duplicates], [true, 0, 2])
      const longer = yield* lines(source, [{ type: "api-calls", value: 5 }], closing.body)
      const refused = yield* upload(source, [...written, ...longer])
      assert.deepStrictEqual(rejection(refused), [409, "UploadOfflineUsage.LedgerClosed"])
      assert.deepStrictEqual(yield* used("api-calls"), [13, 2])
      assert.strictEqual((yield* eventsOf("OFFLINE_USAGE_UPLOADED")).length, 3)
      assert.deepStrictEqual(
        (yield* ledgers).map(({ closedAt }: { closedAt: string | null }) => closedAt === null),
        [false, false],
      )
    }),
  )

  it.effect("of stored lines alone closes it too, once", () =>
    Effect.gen(function* () {
      const { allow, eventsOf, lines, metered, openAllowances, upload } = yield* openLedgerSite
      const { id } = yield* metered("api-calls", -1)
      yield* allow(id, 1, 10)
      const source = newSource()
      const written = yield* lines(source, [{ type: "api-calls", value: 1 }])
      yield* upload(source, written)
      const { body } = yield* upload(source, written, { close: true })
      assert.deepStrictEqual([body.closed, body.accepted, body.duplicates], [true, 0, 1])
      assert.deepStrictEqual(yield* openAllowances, [])
      yield* upload(source, written, { close: true })
      const events = yield* eventsOf("OFFLINE_USAGE_UPLOADED")
      assert.deepStrictEqual(
        events.map(({ data }: { data: { closedAt: string | null } }) => data.closedAt !== null),
        [false, true],
      )
    }),
  )

  it.effect("is a duplicate as long as usage of a bundle of the instance can be uploaded", () =>
    Effect.gen(function* () {
      const { asCaller, bundles, issuedAt, lines, metered, sql, organizationId, stored, uploadAfter } =
        yield* openLedgerSite
      yield* metered("api-calls", -1)
      const source = newSource()
      const written = yield* lines(source, [{ type: "api-calls", value: 1 }])
      yield* uploadAfter(1, source, written)
      const { jobs } = yield* OfflineRetention
      const left = Effect.fnUntraced(function* (days: number) {
        const time = issuedAt + days * DAY_MS
        yield* at(time)(Effect.forEach(jobs, ({ step }) => step(new Date(time), 1_000)))
        const rows = yield* sql`SELECT 1 FROM offline_ledgers WHERE organization_id = ${organizationId}`
        return rows.length
      })
      // The bundle's usage is accepted until day 180, that of the next one until day 270.
      const day100 = issuedAt + 100 * DAY_MS
      yield* at(day100)(asCaller(bundles.issue("prod", { ttlSeconds: 80 * 86_400, graceSeconds: 0 })))
      assert.strictEqual(yield* left(179), 1)
      assert.strictEqual(yield* left(181), 1)
      assert.strictEqual((yield* uploadAfter(269, source, written)).duplicates, 1)
      assert.strictEqual(yield* left(271), 0)
      // By then the line cannot count again.
      const late = yield* uploadAfter(271, source, written)
      assert.deepStrictEqual([late.accepted, late.duplicates], [0, 0])
      assert.deepStrictEqual(
        (yield* stored("api-calls")).map(([, value]) => value),
        ["1"],
      )
    }),
  )
})
