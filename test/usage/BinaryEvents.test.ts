import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

type Headers = Readonly<Record<string, string>>

const headersOf = (id: string, more: Headers = {}): Headers => ({
  "ce-specversion": "1.0",
  "ce-id": id,
  "ce-source": "/gateway",
  "ce-subject": "prod",
  "ce-type": "calls",
  ...more,
})

const openGateway = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const { core } = yield* TestService
  const post = (headers: Headers, rawBody?: string) =>
    core("POST", "/usage-events", {
      token: shop.tenant.token,
      headers,
      ...(rawBody === undefined ? {} : { rawBody }),
    })
  /** Sends an event in binary mode. */
  const send = (id: string, data: unknown, more?: Headers) => post(headersOf(id, more), JSON.stringify(data))
  return { ...shop, post, send }
})

const invalid = "Request.ValidationFailed"

layer(TestService.layer, { excludeTestServices: true })("a usage event in binary mode", (it) => {
  it.effect("is counted as the same event in structured mode, once per source and id", () =>
    Effect.gen(function* () {
      const { metered, post, send, used } = yield* openGateway
      yield* metered("calls", -1)
      const first = yield* send("a", { value: 2.5 })
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual(first.body, { results: [{ index: 0, id: "a", status: "accepted" }] })
      const structured = { specversion: "1.0", id: "a", source: "/gateway", subject: "prod", type: "calls" }
      const again = yield* post(
        { "content-type": "application/cloudevents+json" },
        JSON.stringify({ ...structured, data: { value: 2.5 } }),
      )
      assert.deepStrictEqual(again.body.results, [{ index: 0, id: "a", status: "duplicate" }])
      assert.strictEqual((yield* send("b", { value: "1" }, { "ce-time": new Date().toISOString() })).status, 200)
      assert.strictEqual(yield* used("calls"), 3.5)
    }),
  )

  it.effect("keeps all digits of its value", () =>
    Effect.gen(function* () {
      const { metered, post, tenant } = yield* openGateway
      const { core } = yield* TestService
      yield* metered("calls", -1)
      const sent = yield* post(
        { ...headersOf("a"), "content-type": "application/json" },
        '{"value": 123456789012345678}',
      )
      assert.strictEqual(sent.status, 200, sent.text)
      const usage = yield* core("GET", "/instances/prod/entitlements/calls/usage", { token: tenant.token })
      assert.include(usage.text, "123456789012345678")
    }),
  )

  it.effect("has percent-encoded attributes, also quoted as earlier emitters sent them", () =>
    Effect.gen(function* () {
      const { metered, send } = yield* openGateway
      yield* metered("calls", -1)
      const cases = [
        ["caf%C3%A9%20%E2%82%AC", "café €"],
        ["100%25", "100%"],
        ['"two words \\"x\\""', 'two words "x"'],
        ["%61", "a"],
      ] as const
      for (const [sent, id] of cases) {
        assert.deepStrictEqual((yield* send(sent, { value: 1 })).body.results, [{ index: 0, id, status: "accepted" }])
      }
      for (const sent of ["%C0%A0", "100%", "%zz"]) {
        assert.deepStrictEqual(rejection(yield* send(sent, { value: 1 })), {
          status: 422,
          code: invalid,
          places: ["header.ce-id"],
        })
      }
    }),
  )

  it.effect("may have any data, or none, where only its occurrence counts", () =>
    Effect.gen(function* () {
      const { metered, post, used } = yield* openGateway
      yield* metered("calls", -1, { aggregationMethod: "COUNT" })
      const bodies: ReadonlyArray<readonly [string, string | undefined]> = [
        ["application/json", undefined],
        ["application/json", "[1]"],
        ["application/vnd.example+json; charset=utf-8", '"text"'],
        ["text/plain", "pl\u00e4in"],
        ["application/xml", "<a/>"],
      ]
      for (const [index, [contentType, body]] of bodies.entries()) {
        const response = yield* post({ ...headersOf(String(index)), "content-type": contentType }, body)
        assert.strictEqual(response.status, 200, response.text)
      }
      assert.strictEqual(yield* used("calls"), 5)
      assert.strictEqual(
        rejection(yield* post({ ...headersOf("x"), "content-type": "application/json" }, "{")).code,
        "Request.MalformedBody",
      )
    }),
  )

  it.effect("without required attributes names the missing one", () =>
    Effect.gen(function* () {
      const { post } = yield* openGateway
      const { "ce-id": _, ...withoutId } = headersOf("a")
      const response = yield* post({ ...withoutId, "content-type": "application/json" }, '{"value":1}')
      assert.strictEqual(response.status, 422)
      assert.include(response.body.detail, "`id`")
    }),
  )

  it.effect("is replayed under its idempotency key, which its headers belong to", () =>
    Effect.gen(function* () {
      const { metered, send, used } = yield* openGateway
      yield* metered("calls", -1)
      const key = { "idempotency-key": "key-1" }
      assert.strictEqual((yield* send("a", { value: 1 }, key)).status, 200)
      const replayed = yield* send("a", { value: 1 }, { ...key, "x-request-id": "another" })
      assert.strictEqual(replayed.headers.get("idempotent-replayed"), "true")
      assert.deepStrictEqual(replayed.body.results, [{ index: 0, id: "a", status: "accepted" }])
      assert.strictEqual(rejection(yield* send("b", { value: 1 }, key)).code, "IdempotencyKey.Reused")
      assert.strictEqual(
        rejection(yield* send("a", { value: 1 }, { ...key, "ce-subject": "other" })).code,
        "IdempotencyKey.Reused",
      )
      assert.strictEqual(yield* used("calls"), 1)
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("a usage event that is sent alone and rejected", (it) => {
  it.effect("is 422 with the code of its problem, in structured and in binary mode", () =>
    Effect.gen(function* () {
      const { metered, post, send, used } = yield* openGateway
      yield* metered("calls", 10)
      const cases: ReadonlyArray<readonly [Headers, unknown, string]> = [
        [{}, { value: 11 }, "ReportUsage.ThresholdExceeded"],
        [{ "ce-subject": "none" }, { value: 1 }, "Instance.NotFound"],
        [{ "ce-type": "none" }, { value: 1 }, "Entitlement.NotFound"],
        [{}, { value: "many" }, invalid],
        [{ "ce-specversion": "0.3" }, { value: 1 }, invalid],
        [{ "ce-time": "yesterday" }, { value: 1 }, invalid],
      ]
      for (const [more, data, code] of cases) {
        const attributes = Object.entries(headersOf("a", more)).map(([name, value]) => [name.slice(3), value])
        const structured = JSON.stringify({ ...Object.fromEntries(attributes), data })
        for (const response of [
          yield* send("a", data, more),
          yield* send("a", data, {
            ...more,
            "idempotency-key": `${code} ${JSON.stringify(more)}`.replaceAll(" ", "_"),
          }),
          yield* post({ "content-type": "application/cloudevents+json" }, structured),
          yield* post({ "content-type": "application/json" }, structured),
        ]) {
          assert.strictEqual(response.status, 422, response.text)
          assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
          assert.strictEqual(response.body.code, code)
          assert.strictEqual(response.body.type, `urn:keyshelf:problem:${code}`)
        }
        const batch = yield* post({ "content-type": "application/cloudevents-batch+json" }, `[${structured}]`)
        assert.strictEqual(batch.status, 200)
        assert.strictEqual(batch.body.results[0].code, code)
      }
      // Nothing was counted, and the id is still free.
      assert.strictEqual((yield* send("a", { value: 10 })).status, 200)
      assert.strictEqual(yield* used("calls"), 10)
    }),
  )
})
