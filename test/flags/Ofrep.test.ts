import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createShop } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { published } from "./published.ts"

const FLAGS = "/ofrep/v1/evaluate/flags"

const flagShop = Effect.gen(function* () {
  const shop = yield* createShop
  const service = yield* TestService
  const flag = (key: string, properties: object = {}) =>
    Effect.map(
      shop.call("POST", "/feature-flags", {
        key,
        type: "boolean",
        variants: [
          { name: "on", value: true },
          { name: "off", value: false },
        ],
        defaultVariant: "off",
        ...properties,
      }),
      ({ status, text }) => assert.strictEqual(status, 201, text),
    )
  const evaluate = (key: string, context: unknown) => shop.call("POST", `${FLAGS}/${key}`, { context })
  const evaluateAll = (context: unknown, headers: Record<string, string> = {}) =>
    service.core("POST", FLAGS, { token: shop.tenant.token, body: { context }, headers })
  const raw = (path: string, rawBody: string, headers: Record<string, string> = {}) =>
    service.core("POST", path, { token: shop.tenant.token, rawBody, headers })
  return { ...shop, ...service, flag, evaluate, evaluateAll, raw }
})

const proOnly = [
  { name: "pro", conditions: [{ attribute: "plan", operator: "EQUALS", values: ["pro"] }], variant: "on" },
]
const half = [{ name: "half", conditions: [], variant: "on", percentage: 50 }]

/**
 * Creates granted and ungranted entitlements of every type, a licensed instance "prod" and an expired instance
 * "old".
 */
const licensedShop = Effect.gen(function* () {
  const shop = yield* flagShop
  const { call, customer, entitlement, grant, instance, license, used } = shop
  yield* license("pro")
  yield* customer("Acme")
  const running = { startLicenseDate: "2025-01-01T00:00:00.000Z", endLicenseDate: "2099-01-01T00:00:00.000Z" }
  const prod = yield* instance("Prod", "acme", "pro", running)
  yield* instance("Old", "acme", "pro")
  const seats = yield* entitlement("seats")
  yield* entitlement("calls")
  yield* entitlement("full")
  yield* entitlement("disk")
  yield* entitlement("sso", { type: "BOOLEAN" })
  yield* entitlement("audit", { type: "BOOLEAN" })
  yield* entitlement("regions", { type: "CONFIG" })
  yield* entitlement("themes", { type: "CONFIG" })
  yield* grant("pro", "seats", 10)
  yield* grant("pro", "calls", -1)
  yield* grant("pro", "full", 0)
  yield* grant("pro", "sso", true)
  yield* grant("pro", "regions", { list: ["eu"], nested: { most: 2 } })
  yield* used(prod.id, seats.id, running.startLicenseDate, "4")
  const valueOf = (slug: string, targetingKey: string) =>
    Effect.map(call("POST", `${FLAGS}/entitlement.${slug}`, { context: { targetingKey } }), ({ body }) => body.value)
  return { ...shop, valueOf }
})

layer(TestService.layer, { excludeTestServices: true })("evaluating one flag", (it) => {
  it.effect("an evaluation matches the OFREP schema and has the reason", () =>
    Effect.gen(function* () {
      const { call, evaluate, flag } = yield* flagShop
      yield* flag("search", { targetings: proOnly, metadata: { team: "web", rank: 1, deep: {}, fallback_value: true } })
      const metadata = { team: "web", rank: 1 }
      const matched = yield* evaluate("search", { targetingKey: "anna", plan: "pro" })
      assert.strictEqual(matched.status, 200)
      assert.strictEqual(matched.headers.get("content-type"), "application/json")
      assert.deepStrictEqual(matched.body, {
        key: "search",
        value: true,
        variant: "on",
        reason: "TARGETING_MATCH",
        metadata,
      })
      const unmatched = yield* evaluate("search", { targetingKey: "anna" })
      assert.deepStrictEqual(unmatched.body, {
        key: "search",
        value: false,
        variant: "off",
        reason: "STATIC",
        metadata,
      })
      yield* call("PUT", "/feature-flags/search", { enabled: false })
      const disabled = yield* evaluate("search", { targetingKey: "anna", plan: "pro" })
      assert.strictEqual(disabled.status, 200)
      assert.deepStrictEqual(disabled.body, { key: "search", value: true, reason: "DISABLED", metadata })
      for (const { body } of [matched, unmatched, disabled]) assert.strictEqual(published.success(body), "")
    }),
  )

  it.effect("a percentage rollout returns the same value for the same targeting key", () =>
    Effect.gen(function* () {
      const { evaluate, flag } = yield* flagShop
      yield* flag("split", { targetings: half })
      const values = yield* Effect.forEach(Array.from({ length: 40 }), (_, index) =>
        Effect.gen(function* () {
          const context = { targetingKey: `user-${index}` }
          const first = yield* evaluate("split", context)
          assert.deepStrictEqual((yield* evaluate("split", context)).body, first.body)
          assert.strictEqual(first.body.reason, first.body.value === true ? "SPLIT" : "STATIC")
          return first.body.value as boolean
        }),
      )
      assert.sameMembers([...new Set(values)], [false, true])
    }),
  )

  it.effect("an invalid request or unknown flag gets the error body and code of OFREP", () =>
    Effect.gen(function* () {
      const { evaluate, flag, raw } = yield* flagShop
      yield* flag("split", { targetings: half })
      const cases = [
        [yield* raw(`${FLAGS}/split`, "{"), 400, "PARSE_ERROR"],
        [yield* raw(`${FLAGS}/split`, ""), 400, "PARSE_ERROR"],
        [yield* raw(`${FLAGS}/split`, "[]"), 400, "PARSE_ERROR"],
        [yield* raw(`${FLAGS}/split`, "{}"), 400, "INVALID_CONTEXT"],
        [yield* evaluate("split", null), 400, "INVALID_CONTEXT"],
        [yield* evaluate("split", ["anna"]), 400, "INVALID_CONTEXT"],
        [yield* evaluate("split", "anna"), 400, "INVALID_CONTEXT"],
        [yield* evaluate("split", { targetingKey: 7 }), 400, "INVALID_CONTEXT"],
        [yield* evaluate("split", {}), 400, "TARGETING_KEY_MISSING"],
        [yield* evaluate("unheard-of", {}), 404, "FLAG_NOT_FOUND"],
        [yield* evaluate("%00", {}), 404, "FLAG_NOT_FOUND"],
      ] as const
      for (const [response, status, errorCode] of cases) {
        assert.strictEqual(response.status, status, response.text)
        assert.strictEqual(response.headers.get("content-type"), "application/json")
        assert.isNotNull(response.headers.get("x-request-id"))
        assert.isNull(response.headers.get("x-keyshelf-published-body"))
        assert.deepStrictEqual(Object.keys(response.body).sort(), ["errorCode", "errorDetails", "key"])
        assert.strictEqual(response.body.errorCode, errorCode)
        assert.strictEqual((status === 404 ? published.notFound : published.failure)(response.body), "")
      }
    }),
  )

  it.effect("unknown properties and media type parameters are ignored", () =>
    Effect.gen(function* () {
      const { flag, raw } = yield* flagShop
      yield* flag("search")
      const body = JSON.stringify({ context: { targetingKey: "a" }, flags: [], more: 1 })
      const response = yield* raw(`${FLAGS}/search`, body, { "content-type": "application/json; charset=utf-8" })
      assert.strictEqual(response.status, 200, response.text)
    }),
  )

  it.effect("a flag of another organization is not found", () =>
    Effect.gen(function* () {
      const { flag } = yield* flagShop
      const otherShop = yield* flagShop
      yield* flag("search")
      const response = yield* otherShop.evaluate("search", {})
      assert.strictEqual(response.status, 404)
      assert.deepStrictEqual(response.body, (yield* otherShop.evaluate("search", {})).body)
      assert.deepStrictEqual((yield* otherShop.evaluateAll({})).body.flags, [])
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("evaluating all flags", (it) => {
  it.effect("a bulk evaluation returns every flag by key with its value or error", () =>
    Effect.gen(function* () {
      const { evaluateAll, flag } = yield* flagShop
      yield* flag("search", { targetings: proOnly })
      yield* flag("beta", { targetings: half })
      yield* flag("off", { enabled: false })
      const { body, status } = yield* evaluateAll({ plan: "pro" })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(
        body.flags.map((entry: Record<string, unknown>) => [entry["key"], entry["reason"] ?? entry["errorCode"]]),
        [
          ["beta", "TARGETING_KEY_MISSING"],
          ["off", "DISABLED"],
          ["search", "TARGETING_MATCH"],
        ],
      )
      assert.strictEqual(published.bulk(body), "")
    }),
  )

  it.effect("a bulk evaluation returns 304 for its ETag until a result changes", () =>
    Effect.gen(function* () {
      const { call, evaluateAll, flag } = yield* flagShop
      yield* flag("search", { targetings: proOnly })
      const first = yield* evaluateAll({ targetingKey: "anna" })
      const etag = first.headers.get("etag") ?? ""
      const again = yield* evaluateAll({ targetingKey: "anna" }, { "if-none-match": etag })
      assert.strictEqual(again.status, 304)
      assert.strictEqual(again.text, "")
      assert.strictEqual(again.headers.get("etag"), etag)
      const other = yield* evaluateAll({ targetingKey: "anna", plan: "pro" }, { "if-none-match": etag })
      assert.strictEqual(other.status, 200)
      yield* call("PUT", "/feature-flags/search", { defaultVariant: "on" })
      const changed = yield* evaluateAll({ targetingKey: "anna" }, { "if-none-match": etag })
      assert.strictEqual(changed.status, 200)
      assert.strictEqual(changed.body.flags[0].value, true)
    }),
  )

  it.effect("a bulk evaluation takes what a notice of a change said, and ignores it", () =>
    Effect.gen(function* () {
      const { evaluateAll, flag, raw } = yield* flagShop
      yield* flag("search")
      const { body } = yield* evaluateAll({ targetingKey: "anna" })
      const queries = [
        "flagConfigEtag=550e8400",
        "flagConfigLastModified=1771622898",
        "flagConfigEtag=&flagConfigLastModified=2026-02-20T21:28:18Z",
      ]
      for (const query of queries) {
        const noticed = yield* raw(`${FLAGS}?${query}`, JSON.stringify({ context: { targetingKey: "anna" } }))
        assert.strictEqual(noticed.status, 200, noticed.text)
        assert.deepStrictEqual(noticed.body.flags, body.flags)
      }
      assert.strictEqual((yield* raw(`${FLAGS}?flagConfigETag=1`, `{"context":{}}`)).status, 422)
    }),
  )

  it.effect("a bulk evaluation with a used idempotency key is replayed", () =>
    Effect.gen(function* () {
      const { call, evaluateAll, flag } = yield* flagShop
      yield* flag("search")
      const key = { "idempotency-key": crypto.randomUUID() }
      const first = yield* evaluateAll({ targetingKey: "anna" }, key)
      yield* call("PUT", "/feature-flags/search", { defaultVariant: "on" })
      const again = yield* evaluateAll({ targetingKey: "anna" }, key)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.deepStrictEqual(again.body, first.body)
    }),
  )

  it.effect("an invalid bulk request gets one error body for all flags", () =>
    Effect.gen(function* () {
      const { evaluateAll, raw } = yield* flagShop
      const cases = [
        [yield* raw(FLAGS, "{"), "PARSE_ERROR"],
        [yield* raw(FLAGS, "7"), "PARSE_ERROR"],
        [yield* raw(FLAGS, "{}"), "INVALID_CONTEXT"],
        [yield* evaluateAll([]), "INVALID_CONTEXT"],
        [yield* evaluateAll({ targetingKey: null }), "INVALID_CONTEXT"],
      ] as const
      for (const [response, errorCode] of cases) {
        assert.strictEqual(response.status, 400)
        assert.strictEqual(response.headers.get("content-type"), "application/json")
        assert.deepStrictEqual(Object.keys(response.body).sort(), ["errorCode", "errorDetails"])
        assert.strictEqual(response.body.errorCode, errorCode)
        assert.strictEqual(published.bulkFailure(response.body), "")
      }
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("an entitlement flag", (it) => {
  it.effect("an entitlement flag returns the access, remaining amount or configuration of the targeted instance", () =>
    Effect.gen(function* () {
      const { valueOf } = yield* licensedShop
      assert.strictEqual(yield* valueOf("sso", "prod"), true)
      assert.strictEqual(yield* valueOf("audit", "prod"), false)
      assert.strictEqual(yield* valueOf("seats", "prod"), 6)
      assert.strictEqual(yield* valueOf("calls", "prod"), -1)
      assert.strictEqual(yield* valueOf("full", "prod"), 0)
      assert.strictEqual(yield* valueOf("disk", "prod"), 0)
      assert.deepStrictEqual(yield* valueOf("regions", "prod"), { list: ["eu"], nested: { most: 2 } })
      assert.isUndefined(yield* valueOf("themes", "prod"))
      // The license of "old" has expired.
      assert.strictEqual(yield* valueOf("sso", "old"), false)
      assert.strictEqual(yield* valueOf("seats", "old"), 0)
      assert.strictEqual(yield* valueOf("calls", "old"), 0)
      assert.isUndefined(yield* valueOf("regions", "old"))
    }),
  )

  it.effect("the metadata of an entitlement flag contains the reason", () =>
    Effect.gen(function* () {
      const { evaluate } = yield* licensedShop
      const { body } = yield* evaluate("entitlement.seats", { targetingKey: "prod" })
      assert.deepStrictEqual(body, {
        key: "entitlement.seats",
        value: 6,
        reason: "TARGETING_MATCH",
        metadata: { allowed: true, checkReason: "GRANTED", limit: 10, usage: 4, overage: 0 },
      })
      assert.strictEqual(published.success(body), "")
      const { body: ended } = yield* evaluate("entitlement.sso", { targetingKey: "old" })
      assert.deepStrictEqual(ended.metadata, { allowed: false, checkReason: "LICENSE_EXPIRED" })
    }),
  )

  it.effect("an entitlement flag without targeting key is 400, and with an unknown instance or entitlement 404", () =>
    Effect.gen(function* () {
      const { evaluate } = yield* licensedShop
      const codeOf = (key: string, context: object) =>
        Effect.map(evaluate(key, context), ({ body, status }) => [status, body.errorCode])
      assert.deepStrictEqual(yield* codeOf("entitlement.sso", {}), [400, "TARGETING_KEY_MISSING"])
      assert.deepStrictEqual(yield* codeOf("entitlement.sso", { targetingKey: "" }), [400, "TARGETING_KEY_MISSING"])
      for (const targetingKey of ["nowhere", "\u0000", "Not a slug"]) {
        assert.deepStrictEqual(yield* codeOf("entitlement.sso", { targetingKey }), [404, "FLAG_NOT_FOUND"])
      }
      for (const slug of ["nothing", "%00", "", "a.b"]) {
        assert.deepStrictEqual(yield* codeOf(`entitlement.${slug}`, { targetingKey: "prod" }), [404, "FLAG_NOT_FOUND"])
      }
    }),
  )

  it.effect("a bulk evaluation includes entitlement flags only if the targeting key is an instance", () =>
    Effect.gen(function* () {
      const { evaluateAll, flag } = yield* licensedShop
      yield* flag("search")
      const keysOf = (context: object) =>
        Effect.map(evaluateAll(context), ({ body }) => {
          assert.strictEqual(published.bulk(body), "")
          return body.flags.map(({ key }: { key: string }) => key)
        })
      const slugs = ["audit", "calls", "disk", "full", "regions", "seats", "sso", "themes"]
      const all = [...slugs.map((slug) => `entitlement.${slug}`), "search"]
      assert.deepStrictEqual(yield* keysOf({ targetingKey: "prod" }), all)
      for (const context of [{}, { targetingKey: "nowhere" }, { targetingKey: "\u0000" }]) {
        assert.deepStrictEqual(yield* keysOf(context), ["search"])
      }
    }),
  )
})
