import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { daysAgo, openMeteredShop } from "./MeteredShop.ts"

const event = (id: string, value: unknown, more: object = {}) => ({
  specversion: "1.0",
  id,
  source: "/gateway",
  subject: "prod",
  type: "calls",
  data: { value },
  ...more,
})

const statuses = ({ body }: HttpResponse) => body.results.map(({ status }: { status: string }) => status)
const codes = ({ body }: HttpResponse) => body.results.map(({ code }: { code?: string }) => code)

const openGateway = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const { core } = yield* TestService
  const send = (body: unknown, contentType = "application/json") =>
    core("POST", "/usage-events", {
      token: shop.tenant.token,
      rawBody: JSON.stringify(body),
      headers: { "content-type": contentType },
    })
  return { ...shop, send }
})

layer(TestService.layer, { excludeTestServices: true })("usage events", (it) => {
  it.effect("are accepted alone and in batches, under every media type of CloudEvents", () =>
    Effect.gen(function* () {
      const { metered, send, used } = yield* openGateway
      yield* metered("calls", -1)
      const answers = [
        yield* send(event("a", 1), "application/cloudevents+json"),
        yield* send([event("b", 2), event("c", "3.5")], "application/cloudevents-batch+json"),
        yield* send(event("d", 4)),
        yield* send([event("e", 5, { time: daysAgo(1), traceparent: "00-1", dataschema: "x" })]),
        yield* send(event("f", 6), "application/cloudevents+json; charset=utf-8"),
      ]
      for (const answer of answers) assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(answers[1]?.body, {
        results: [
          { index: 0, id: "b", status: "accepted" },
          { index: 1, id: "c", status: "accepted" },
        ],
      })
      assert.strictEqual(yield* used("calls"), 21.5)
    }),
  )

  it.effect("have their data as bytes too, which count if they are JSON", () =>
    Effect.gen(function* () {
      const { call, metered, send, used } = yield* openGateway
      yield* metered("calls", -1)
      yield* metered("hits", -1, { aggregationMethod: "COUNT" })
      yield* metered("users", -1, { aggregationMethod: "UNIQUE_COUNT" })
      const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64")
      const bytes = (id: string, data: unknown, more: object = {}) => {
        const { data: _, ...attributes } = event(id, 0)
        return { ...attributes, data_base64: data, ...more }
      }
      const json = "application/json"
      const two = base64('{"value":2}')
      const cases: ReadonlyArray<readonly [unknown, string | RegExp]> = [
        [bytes("1", "eyJ2YWx1ZSI6Mn0=", { datacontenttype: json }), "accepted"],
        [bytes("2", two), "accepted"],
        [bytes("3", two, { datacontenttype: null, data: null }), "accepted"],
        [bytes("4", two, { datacontenttype: "Application/Vnd.Usage+JSON; charset=utf-8" }), "accepted"],
        [bytes("5", base64('\ufeff{"value":"2.5"}')), "accepted"],
        [bytes("6", base64('{"value":0.123456789012345678}')), "accepted"],
        [event("7", 1, { data_base64: null, datacontenttype: json }), "accepted"],
        [event("8", 1, { data_base64: two }), /must not both/],
        [bytes("9", two.replaceAll("=", "")), /Base64/],
        [bytes("10", `${two}*`), /Base64/],
        [bytes("11", base64("{}").replace("+", "-") + "-_-_"), /Base64/],
        [bytes("12", 7), /Base64/],
        [bytes("13", base64("{value:2}")), /must be JSON/],
        [bytes("14", base64(Uint8Array.of(34, 0xff, 34))), /must be JSON/],
        [bytes("15", base64('{"value":1e400}')), /must be a number/],
        [bytes("16", base64('{"value":1234567890123456789}')), /18 digits/],
        [bytes("17", two, { datacontenttype: "text/plain" }), /`data\.value` required/],
        [bytes("18", "", {}), /`data\.value` required/],
        [bytes("19", two, { datacontenttype: 5 }), /`datacontenttype` must be text/],
        [bytes("20", base64("any bytes"), { datacontenttype: "text/plain", type: "hits" }), "accepted"],
        [bytes("21", base64('{"uniqueKey":"ann"}'), { type: "users" }), "accepted"],
        [bytes("22", two, { time: "2026-01-31" }), /`time` is missing or invalid/],
      ]
      const { body } = yield* send(
        cases.map(([sent]) => sent),
        "application/cloudevents-batch+json",
      )
      for (const [index, [, expected]] of cases.entries()) {
        const { message, status } = body.results[index]
        if (typeof expected === "string") assert.strictEqual(status, expected, `${index} ${message}`)
        else assert.match(message, expected, String(index))
      }
      const { text } = yield* call("GET", "/instances/prod/entitlements/calls/usage")
      assert.include(text, '"value":11.623456789012345678')
      assert.deepStrictEqual([yield* used("hits"), yield* used("users")], [1, 1])
      const alone = yield* send(bytes("23", two), "application/cloudevents+json")
      assert.strictEqual(alone.status, 200, alone.text)
      assert.strictEqual((yield* send(bytes("24", "?"), "application/cloudevents+json")).status, 422)
      const now = new Date().toISOString().toLowerCase().replace("z", "1234z")
      assert.deepStrictEqual(statuses(yield* send([event("25", 1, { time: now })])), ["accepted"])
    }),
  )

  it.effect("are counted once per source and id within 35 days", () =>
    Effect.gen(function* () {
      const { metered, send, used } = yield* openGateway
      const sql = yield* PgClient.PgClient
      yield* metered("calls", -1)
      const answer = yield* send([event("a", 1), event("a", 1), event("a", 1, { source: "/other" })])
      assert.deepStrictEqual(statuses(answer), ["accepted", "duplicate", "accepted"])
      assert.deepStrictEqual(statuses(yield* send([event("a", 9), event("b", 1)])), ["duplicate", "accepted"])
      yield* sql`UPDATE usage_event_ids SET expires_at = ${new Date(Date.now() - 1)} WHERE source = '/other'`
      assert.deepStrictEqual(statuses(yield* send(event("a", 1, { source: "/other" }))), ["accepted"])
      assert.strictEqual(yield* used("calls"), 4)
    }),
  )

  it.effect("are rejected one by one, with the code of the problem", () =>
    Effect.gen(function* () {
      const { entitlement, metered, send, used } = yield* openGateway
      yield* metered("calls", 10)
      yield* metered("users", 10, { aggregationMethod: "UNIQUE_COUNT" })
      yield* metered("hits", 10, { aggregationMethod: "COUNT" })
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* entitlement("alien")
      const invalid = "Request.ValidationFailed"
      const cases: ReadonlyArray<readonly [unknown, string | undefined]> = [
        [event("1", 4), undefined],
        [event("2", 7), "ReportUsage.ThresholdExceeded"],
        [event("3", 6), undefined],
        [event("4", -11), invalid],
        [event("5", 1, { subject: "none" }), "Instance.NotFound"],
        [event("6", 1, { type: "none" }), "Entitlement.NotFound"],
        [event("7", 1, { type: "alien" }), "ReportUsage.ThresholdExceeded"],
        [event("8", 1, { type: "sso" }), invalid],
        [event("9", "Inf"), invalid],
        [event("10", null), invalid],
        [event("11", 1, { time: daysAgo(40) }), invalid],
        [event("12", 1, { time: "yesterday" }), invalid],
        [event("13", 1, { specversion: "0.3" }), invalid],
        [event("14", 1, { source: "" }), invalid],
        [event("15", 1, { type: "users" }), invalid],
        [event("16", undefined, { type: "users", data: { uniqueKey: "ann" } }), undefined],
        [event("17", undefined, { type: "hits", data: undefined }), undefined],
        [event("18", undefined, { type: "hits", data: ["anything"] }), undefined],
        ["nonsense", invalid],
      ]
      const answer = yield* send(cases.map(([sent]) => sent))
      assert.deepStrictEqual(
        codes(answer),
        cases.map(([, code]) => code),
      )
      assert.strictEqual(answer.body.results[18].id, null)
      assert.include(answer.body.results[13].message, "source")
      assert.deepStrictEqual([yield* used("calls"), yield* used("users"), yield* used("hits")], [10, 1, 2])
      // A rejected event was not counted, so it can be sent again.
      assert.deepStrictEqual(statuses(yield* send(event("2", -1))), ["accepted"])
    }),
  )

  it.effect("are rejected as a whole if the body contains no events", () =>
    Effect.gen(function* () {
      const { send } = yield* openGateway
      for (const body of [[], "text", 7, null, Array.from({ length: 1001 }, (_, index) => event(`${index}`, 1))]) {
        assert.strictEqual(rejection(yield* send(body)).status, 422)
      }
      assert.strictEqual((yield* send(event("a", 1), "text/plain")).status, 415)
    }),
  )

  it.effect("are counted once when overlapping batches are sent, also at the same time", () =>
    Effect.gen(function* () {
      const { metered, send, used } = yield* openGateway
      yield* metered("calls", -1)
      yield* metered("more", -1)
      const batch = (from: number) =>
        Array.from({ length: 300 }, (_, index) =>
          event(String(from + index), 1, { type: index % 2 === 0 ? "calls" : "more" }),
        )
      const answers = yield* Effect.all(
        [batch(0), batch(100), batch(200).toReversed(), batch(0).toReversed()].map((events) => send(events)),
        { concurrency: 4 },
      )
      const accepted = answers.flatMap(statuses).filter((status: string) => status === "accepted")
      assert.strictEqual(accepted.length, 500)
      assert.strictEqual((yield* used("calls")) + (yield* used("more")), 500)
    }),
  )
})
