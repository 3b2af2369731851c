import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { newSource, openLedgerSite, sha256 } from "./LedgerSite.ts"
import { rejection } from "./Site.ts"

layer(TestService.layer, { excludeTestServices: true })("a ledger", (it) => {
  it.effect("is taken whole: its lines count like reported events, once", () =>
    Effect.gen(function* () {
      const { call, eventsOf, instance, ledgers, lines, metered, stored, upload, used } = yield* openLedgerSite
      yield* metered("api-calls", 1_000)
      yield* metered("exports", 10, { aggregationMethod: "COUNT" })
      const source = newSource()
      const written = yield* lines(source, [
        { type: "api-calls", value: 25 },
        { type: "exports", value: 1 },
        { type: "api-calls", value: "40.0000000000000001" },
      ])
      const first = yield* upload(source, written.slice(0, 2))
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual(first.body, {
        source,
        accepted: 2,
        duplicates: 0,
        lines: 2,
        head: sha256(written[1] ?? ""),
        closed: false,
        overAllowance: [],
        results: [
          { index: 0, id: "1", status: "accepted" },
          { index: 1, id: "2", status: "accepted" },
        ],
      })
      const second = yield* upload(source, written)
      assert.deepStrictEqual([second.body.accepted, second.body.duplicates, second.body.lines], [1, 2, 3])
      assert.deepStrictEqual(
        second.body.results.map(({ status }: { status: string }) => status),
        ["duplicate", "duplicate", "accepted"],
      )
      const again = yield* upload(source, written)
      assert.deepStrictEqual([again.body.accepted, again.body.duplicates, again.body.head], [0, 3, second.body.head])
      assert.deepStrictEqual(yield* used("exports"), [1, 1])
      const [period] = yield* stored("api-calls")
      assert.deepStrictEqual(period?.slice(1), ["65.0000000000000001", "65.0000000000000001"])

      const { body } = yield* call("GET", "/instances/prod/entitlements/api-calls/usage/events")
      assert.deepStrictEqual(
        body.items.map((event: Record<string, unknown>) => [event["source"], event["transactionId"]]),
        [
          [source, "3"],
          [source, "1"],
        ],
      )
      const [ledger, ...others] = yield* ledgers
      assert.deepStrictEqual(others, [])
      const { createdAt, updatedAt, ...record } = ledger
      assert.deepStrictEqual(record, {
        instance: "prod",
        source,
        lines: 3,
        head: second.body.head,
        closedAt: null,
        forkedAt: null,
      })
      assert.isTrue(createdAt < updatedAt)
      // A repetition stores nothing, so it has no event.
      const events = yield* eventsOf("OFFLINE_USAGE_UPLOADED")
      assert.deepStrictEqual(
        events.map(({ data }: { data: Record<string, unknown> }) => [
          data["instanceId"],
          data["source"],
          data["lines"],
          data["accepted"],
          data["rejected"],
        ]),
        [
          [instance.id, source, 2, 2, 0],
          [instance.id, source, 3, 1, 0],
        ],
      )
    }),
  )

  it.effect("may be uploaded in parallel, beside another one of the instance and reports of the same usage", () =>
    Effect.gen(function* () {
      const { call, ledgers, lines, metered, upload, used } = yield* openLedgerSite
      yield* metered("api-calls", -1)
      const sources = [newSource(), newSource()].toSorted()
      const uses = Array.from({ length: 40 }, () => ({ type: "api-calls", value: 2 }))
      const written = yield* Effect.forEach(sources, (source) => lines(source, uses))
      const uploads = Array.from({ length: 12 }, (_, turn) =>
        upload(sources[turn % 2] ?? "", written[turn % 2]?.slice(0, 20 + turn) ?? []),
      )
      const report = call("POST", "/instances/prod/entitlements/api-calls/usage", { value: 1_000 })
      const answers = yield* Effect.all([...uploads, ...Array<typeof report>(10).fill(report)], { concurrency: 22 })
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.deepStrictEqual(yield* used("api-calls"), [10_000 + 2 * (30 + 31), 10 + 30 + 31])
      assert.deepStrictEqual(
        (yield* ledgers).map(({ lines, source }: { lines: number; source: string }) => [source, lines]),
        [
          [sources[0], 30],
          [sources[1], 31],
        ],
      )
    }),
  )

  it.effect("is listed by source, page by page", () =>
    Effect.gen(function* () {
      const { call, lines, metered, upload } = yield* openLedgerSite
      yield* metered("api-calls", 10)
      const sources = [newSource(), newSource(), newSource()].toSorted()
      for (const source of sources) yield* upload(source, yield* lines(source, [{ type: "api-calls", value: 1 }]))
      const seen: Array<string> = []
      for (let cursor = ""; seen.length < 10;) {
        const path = `/instances/prod/offline-ledgers?limit=2${cursor && `&cursor=${cursor}`}`
        const { body } = yield* call("GET", path)
        seen.push(...body.items.map(({ source }: { source: string }) => source))
        cursor = body.nextCursor
        if (body.hasMore !== true) break
      }
      assert.deepStrictEqual(seen, sources)
    }),
  )

  it.effect("with a line that does not follow, or is missing, changes nothing and is refused", () =>
    Effect.gen(function* () {
      const { call, eventsOf, ledgers, lines, metered, tenant, service, upload, used } = yield* openLedgerSite
      yield* metered("api-calls", 100)
      const source = newSource()
      const [one = "", two = "", three = ""] = yield* lines(
        source,
        [1, 2, 3].map((value) => ({ type: "api-calls", value })),
      )
      assert.deepStrictEqual(rejection(yield* upload(source, [two])), [409, "UploadOfflineUsage.LedgerGap"])
      assert.deepStrictEqual(rejection(yield* upload(source, [two, one])), [409, "UploadOfflineUsage.LedgerGap"])
      assert.deepStrictEqual(rejection(yield* upload(source, [one, three])), [409, "UploadOfflineUsage.LedgerGap"])
      assert.deepStrictEqual([yield* ledgers, yield* used("api-calls")], [[], [0, 0]])

      assert.strictEqual((yield* upload(source, [one, two])).status, 200)
      const gap = yield* upload(source, [one, three.replace('"id":"3"', '"id":"4"')])
      assert.deepStrictEqual(rejection(gap), [409, "UploadOfflineUsage.LedgerGap"])
      assert.include(gap.body.detail, "The line 3 is missing before body.lines[1]")
      // A copy of the machine went on by itself from the first line.
      const [other = "", later = ""] = yield* lines(
        source,
        [7, 8].map((value) => ({ type: "api-calls", value })),
        { lines: 1, head: sha256(one) },
      )
      const fork = yield* upload(source, [one, other, later])
      assert.deepStrictEqual(rejection(fork), [409, "UploadOfflineUsage.LedgerForked"])
      assert.include(fork.body.detail, "The line 2, body.lines[1], does not follow")
      const [forked] = yield* ledgers
      assert.deepStrictEqual([forked.lines, forked.head], [2, sha256(two)])
      assert.isString(forked.forkedAt)
      // The same line again is no news; another one is.
      assert.strictEqual((yield* upload(source, [other])).status, 409)
      const keyed = yield* service.core("POST", "/instances/prod/offline-usage", {
        token: tenant.token,
        body: { source, lines: [later] },
        headers: { "idempotency-key": "a-copy" },
      })
      assert.deepStrictEqual(rejection(keyed), [409, "UploadOfflineUsage.LedgerForked"])
      const events = yield* eventsOf("OFFLINE_LEDGER_FORKED")
      assert.deepStrictEqual(
        events.map(({ data }: { data: Record<string, unknown> }) => [
          data["source"],
          data["forkedLine"],
          data["lines"],
        ]),
        [
          [source, 2, 2],
          [source, 3, 2],
        ],
      )
      // The true ledger goes on.
      assert.strictEqual((yield* upload(source, [one, two, three])).body.accepted, 1)
      assert.deepStrictEqual(yield* used("api-calls"), [6, 3])
      assert.deepStrictEqual((yield* call("GET", "/instances/unknown/offline-ledgers")).body.code, "Instance.NotFound")
    }),
  )

  it.effect("that never began is forked too, if its lines do not follow", () =>
    Effect.gen(function* () {
      const { eventsOf, ledgers, lines, metered, upload, used } = yield* openLedgerSite
      yield* metered("api-calls", 100)
      const source = newSource()
      const [one = "", two = ""] = yield* lines(
        source,
        [1, 2].map((value) => ({ type: "api-calls", value })),
      )
      const changed = [one.replace('"value":1', '"value":0'), two]
      for (let time = 0; time < 2; time++) {
        assert.deepStrictEqual(rejection(yield* upload(source, changed)), [409, "UploadOfflineUsage.LedgerForked"])
      }
      assert.strictEqual((yield* eventsOf("OFFLINE_LEDGER_FORKED")).length, 1)
      const [ledger] = yield* ledgers
      assert.deepStrictEqual([ledger.lines, ledger.head], [0, sha256(source)])
      assert.deepStrictEqual(yield* used("api-calls"), [0, 0])
      assert.strictEqual((yield* upload(source, [one, two])).body.accepted, 2)
    }),
  )

  it.effect("with a text that is none of its lines stores nothing", () =>
    Effect.gen(function* () {
      const { ledgers, lines, metered, upload } = yield* openLedgerSite
      yield* metered("api-calls", 100)
      const source = newSource()
      const [one = "", two = ""] = yield* lines(source, [
        { type: "api-calls", value: 1 },
        { type: "api-calls", value: 2 },
      ])
      const deep = `{"a":${"[".repeat(200_000)}1234567890123456789${"]".repeat(200_000)}}`
      for (const text of [
        "",
        "null",
        "[]",
        "7",
        "{",
        "\u0000",
        deep,
        two.replace('"id":"2"', '"id":2'),
        two.replace('"id":"2"', '"id":"02"'),
        two.replace('"id":"2"', '"id":"99999999999999999"'),
        two.replace(source, newSource()),
        "{}",
        '{"__proto__":{"id":"2"}}',
      ]) {
        const refused = yield* upload(source, [one, text, two])
        assert.deepStrictEqual(rejection(refused), [422, "Request.ValidationFailed"], text.slice(0, 300))
        assert.deepStrictEqual(
          refused.body.errors.map(({ location }: { location: string }) => location),
          ["body.lines[1]"],
        )
      }
      for (const body of [
        { lines: [] },
        { lines: Array.from({ length: 1_001 }, () => one) },
        { lines: [7] },
        { lines: [one], close: "yes" },
        { source: "urn:uuid:0198c2b5-0000-7000-8000-000000000001" },
      ]) {
        assert.strictEqual((yield* upload(source, [one], body)).status, 422)
      }
      assert.deepStrictEqual(yield* ledgers, [])
    }),
  )
})
