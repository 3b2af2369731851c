import { assert, layer } from "@effect/vitest"
import { Arbitrary, BigDecimal, Effect, Schema } from "effect"
import { decimalText } from "../../src/kernel/values/Decimal.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

/** The numbers after a property's name in the text of a response. */
const numbers = ({ text }: HttpResponse, name: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(new RegExp(`"${name}":(-?[0-9][0-9.eE+-]*)`, "g")), ([, digits]) => digits ?? "")

const LARGE = "123456789012345678"
const FINE = "0.123456789012345678"

/** A decimal of up to 18 digits, with its point anywhere. */
const decimals = Arbitrary.schema(
  Schema.Tuple([
    Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 1n, maximum: 10n ** 18n - 1n })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 18 })),
  ]),
)

const opened = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const { core } = yield* TestService
  const { token } = shop.tenant
  const send = (method: string, path: string, rawBody: string, headers: Record<string, string> = {}) =>
    core(method, path, { token, rawBody, headers })
  return {
    ...shop,
    send,
    /** Posts a body as raw text. */
    post: (path: string, rawBody: string, headers?: Record<string, string>) => send("POST", path, rawBody, headers),
    read: (path: string) => core("GET", path, { token }),
  }
})

const usage = (slug: string) => `/instances/prod/entitlements/${slug}/usage`
const reservations = "/instances/prod/entitlements/calls/reservations"
const check = "/instances/prod/check"
const cloudEvent = (id: number, value: string, type = "calls") =>
  `{"specversion":"1.0","id":"${id}","source":"/s","subject":"prod","type":"${type}","data":{"value":${value}}}`

layer(TestService.layer, { excludeTestServices: true })("amounts of up to 18 digits", (it) => {
  it.effect(
    "are returned as they were reported, digit for digit",
    () =>
      Effect.gen(function* () {
        const { metered, post, read } = yield* opened
        yield* metered("seen", -1, { aggregationMethod: "LATEST" })
        const samples = yield* Arbitrary.sampleEffect(decimals, { count: 100 })
        for (const [digits, scale] of samples) {
          const decimal = BigDecimal.make(digits, scale)
          const text = decimalText(decimal)
          for (const answer of [yield* post(usage("seen"), `{"value":${text}}`), yield* read(usage("seen"))]) {
            const [unlimited, value = ""] = numbers(answer, "value")
            assert.strictEqual(unlimited, "-1")
            // JavaScript writes small numbers of few digits with an exponent.
            assert.strictEqual(/e/.test(value) ? decimalText(BigDecimal.fromStringUnsafe(value)) : value, text)
          }
        }
      }),
    120_000,
  )

  it.effect("are added up exactly by reports, events and consumed checks", () =>
    Effect.gen(function* () {
      const { metered, post, read, send } = yield* opened
      yield* metered("calls", -1)
      assert.deepStrictEqual(numbers(yield* post(usage("calls"), `{"value":${LARGE}}`), "value"), ["-1", LARGE])
      yield* post(usage("calls"), `{"value":{"type":"number","value":0.123456789012345678}}`)
      const both = "123456789012345678.123456789012345678"
      assert.deepStrictEqual(numbers(yield* read(usage("calls")), "value"), ["-1", both])
      yield* post(usage("calls"), `{"value":${LARGE},"behavior":"set"}`)
      const batch = { "content-type": "application/cloudevents-batch+json" }
      const sent = [cloudEvent(1, "1"), cloudEvent(2, "-0.000000000000000001"), cloudEvent(3, `"${LARGE}"`)]
      yield* send("POST", "/usage-events", `[${sent.join()}]`, batch)
      yield* post("/usage-events", cloudEvent(4, LARGE))
      const total = numbers(yield* read(`/instances/prod/entitlements/usage`), "value")
      assert.deepStrictEqual(total, ["-1", "370370367037037034.999999999999999999"])
    }),
  )

  it.effect("are granted, requested and compared exactly", () =>
    Effect.gen(function* () {
      const { call, entitlement, post, read, send } = yield* opened
      yield* entitlement("calls")
      const grants = "/licenses/pro/entitlements"
      const assigned = yield* post(grants, `{"entitlementSlug":"calls","value":${LARGE}}`)
      assert.deepStrictEqual([assigned.status, numbers(assigned, "value")], [201, [LARGE]])
      assert.deepStrictEqual(numbers(yield* read(grants), "value"), [LARGE])
      yield* post(usage("calls"), `{"value":123456789012345670}`)
      const asked = (requested: string, more = "") =>
        post(check, `{"checks":[{"entitlement":"calls","requested":${requested}}]${more}}`)
      const exact = yield* asked("8", `,"explain":true`)
      assert.deepStrictEqual(
        ["limit", "usage", "remaining", "overage"].map((name) => numbers(exact, name)[0]),
        [LARGE, "123456789012345670", "8", "0"],
      )
      // The value of the grant, and that of its only source.
      assert.deepStrictEqual([numbers(exact, "value"), numbers(exact, "cap")], [[LARGE, LARGE], [LARGE]])
      assert.include(exact.body.checks[0].explanation.text, `(version 1) grants ${LARGE}`)
      assert.isTrue(exact.body.checks[0].allowed)
      assert.isFalse((yield* asked("8.00000000000000001")).body.checks[0].allowed)
      assert.isFalse((yield* asked("8.00000000000000001", `,"consume":true`)).body.checks[0].allowed)
      const consumed = yield* asked("7.99999999999999999", `,"consume":true`)
      assert.deepStrictEqual(numbers(consumed, "remaining"), ["1e-17"])
      const rejected = yield* post(usage("calls"), `{"value":0.00000000000000002}`)
      assert.strictEqual(rejected.body.code, "ReportUsage.ThresholdExceeded")
      assert.include(rejected.body.detail, "123456789012345677.99999999999999999 is used")
      assert.strictEqual((yield* send("PUT", `${grants}/calls`, `{"value":${FINE}}`)).status, 204)
      assert.strictEqual((yield* call("PUT", `${grants}/calls`, { overagePercent: 50 })).status, 204)
      assert.deepStrictEqual(numbers(yield* read(grants), "value"), [FINE])
      assert.deepStrictEqual(numbers(yield* asked("1", `,"explain":true`), "cap"), ["0.185185183518518517"])
    }),
  )

  it.effect("are reserved and committed exactly", () =>
    Effect.gen(function* () {
      const { metered, post, read } = yield* opened
      yield* metered("calls", 1)
      const reserved = yield* post(reservations, `{"quantity":${FINE}}`)
      assert.deepStrictEqual(numbers(reserved, "quantity"), [FINE])
      const { id } = reserved.body
      const asked = yield* post(check, `{"checks":[{"entitlement":"calls"}],"explain":true}`)
      assert.deepStrictEqual([numbers(asked, "held"), numbers(asked, "remaining")], [[FINE], ["0.876543210987654322"]])
      const tooMuch = yield* post(`/reservations/${id}/commit`, `{"quantity":0.123456789012345679}`)
      assert.strictEqual(tooMuch.status, 422)
      const committed = yield* post(`/reservations/${id}/commit`, `{"quantity":0.023456789012345678}`)
      assert.deepStrictEqual(numbers(committed, "committedQuantity"), ["0.023456789012345678"])
      assert.deepStrictEqual(numbers(yield* read(`/reservations/${id}`), "quantity"), [FINE])
      assert.deepStrictEqual(numbers(yield* read(usage("calls")), "value"), ["1", "0.023456789012345678"])
    }),
  )

  it.effect("are exact in events and in the usage of groups", () =>
    Effect.gen(function* () {
      const { call, entitlement, post, read } = yield* opened
      yield* entitlement("calls")
      yield* post("/licenses/pro/entitlements", `{"entitlementSlug":"calls","value":${LARGE}}`)
      yield* post(usage("calls"), `{"value":${LARGE}}`)
      const named = (type: string) => read(`/events?type=${type}`)
      assert.deepStrictEqual(numbers(yield* named("LICENSE_ENTITLEMENT_ASSIGNED"), "value"), [LARGE])
      assert.deepStrictEqual(numbers(yield* named("ENTITLEMENT_USAGE_LIMIT_REACHED"), "value"), [LARGE, LARGE])
      yield* call("POST", "/entitlement-groups", { name: "Metered" })
      yield* call("POST", "/entitlement-groups/metered/entitlements", { entitlementSlug: "calls" })
      const ofGroup = yield* read("/entitlement-groups/metered/usage?instance=prod")
      assert.deepStrictEqual(numbers(ofGroup, "value"), [LARGE, LARGE])
    }),
  )

  it.effect("are distinguished under a transaction id, and replayed under an idempotency key", () =>
    Effect.gen(function* () {
      const { metered, post } = yield* opened
      yield* metered("calls", -1)
      const report = (value: string) => post(usage("calls"), `{"value":${value},"transactionId":"one"}`)
      assert.strictEqual((yield* report(LARGE)).status, 200)
      assert.deepStrictEqual(numbers(yield* report(`${LARGE}.0`), "value"), ["-1", LARGE])
      assert.strictEqual((yield* report("123456789012345679")).body.code, "ReportUsage.TransactionIdReused")
      const key = { "idempotency-key": "key" }
      const first = yield* post(usage("calls"), `{"value":${FINE}}`, key)
      const again = yield* post(usage("calls"), `{"value":${FINE}}`, key)
      assert.strictEqual(again.text, first.text)
      assert.deepStrictEqual(numbers(again, "value"), ["-1", "123456789012345678.123456789012345678"])
    }),
  )

  it.effect("are rejected above 18 digits, with the value that was sent", () =>
    Effect.gen(function* () {
      const { entitlement, metered, post } = yield* opened
      yield* metered("calls", -1)
      yield* entitlement("other")
      const rejected = (answer: HttpResponse) => [
        answer.status,
        answer.body.errors[0].message,
        numbers(answer, "value")[0],
      ]
      for (const text of [
        "1234567890123456789",
        "1000000000000000000",
        "0.1234567890123456789",
        "1234567890.123456789",
        "1e+21",
        "1e-30",
      ]) {
        assert.deepStrictEqual(rejected(yield* post(usage("calls"), `{"value":${text}}`)), [
          422,
          "must have at most 18 digits",
          text,
        ])
        assert.deepStrictEqual(rejected(yield* post(reservations, `{"quantity":${text}}`)), [
          422,
          "must have at most 18 digits",
          text,
        ])
        for (const more of ["", `,"consume":true`, `,"at":"2099-01-01T00:00:00Z"`, `,"explain":true`]) {
          const checked = yield* post(
            check,
            `{"checks":[{"entitlement":"calls"},{"entitlement":"none","requested":${text}}]${more}}`,
          )
          assert.deepStrictEqual(rejected(checked), [422, "must have at most 18 digits", text])
          assert.strictEqual(checked.body.errors[0].location, "body.checks[1].requested")
        }
        const granted = yield* post("/licenses/pro/entitlements", `{"entitlementSlug":"other","value":${text}}`)
        assert.deepStrictEqual(rejected(granted), [422, "must have at most 18 digits", text])
        const events = yield* post("/usage-events", cloudEvent(1, text))
        assert.deepStrictEqual([events.status, events.body.detail], [422, "`data.value` must have at most 18 digits."])
      }
      const long = yield* post(usage("calls"), `{"value":0.5${"0".repeat(500_000)}1}`)
      assert.strictEqual(long.status, 422)
      const config = yield* entitlement("config", { type: "CONFIG" })
      assert.strictEqual(config.type, "CONFIG")
      const number = yield* post("/licenses/pro/entitlements", `{"entitlementSlug":"config","value":${LARGE}}`)
      assert.match(number.body.errors[0].message, /must be an object: the entitlement has the type CONFIG/)
    }),
  )

  it.effect("are rejected if a JavaScript number would be 0, infinite or whole instead", () =>
    Effect.gen(function* () {
      const { call, entitlement, metered, post, send } = yield* opened
      yield* metered("calls", -1)
      yield* entitlement("config", { type: "CONFIG" })
      const errors = ({ body, status }: HttpResponse) =>
        status === 422
          ? (body.errors as ReadonlyArray<{ location: string; message: string }>).map(
              ({ location, message }) => `${location} ${message}`,
            )
          : [status]
      const asked = (requested: string) => post(check, `{"checks":[{"entitlement":"calls","requested":${requested}}]}`)
      const digits = "must have at most 18 digits"
      assert.deepStrictEqual(errors(yield* asked("1e-400")), [`body.checks[0].requested ${digits}`])
      assert.deepStrictEqual(errors(yield* asked("1e-99999999999999999999")), [`body.checks[0].requested ${digits}`])
      assert.deepStrictEqual(errors(yield* asked("1e400")), ["body.checks[0].requested must be a finite number"])
      assert.deepStrictEqual(errors(yield* asked("-0")), [200])
      assert.deepStrictEqual(errors(yield* asked("12.50e1")), [200])
      const licensed = (days: string) => send("PUT", "/licenses/pro", `{"graceDays":${days}}`)
      assert.deepStrictEqual(errors(yield* licensed("3.00000000000000001")), ["body.graceDays must be an integer"])
      assert.deepStrictEqual(errors(yield* licensed("3.00000000000000000000001")), [`body.graceDays ${digits}`])
      assert.deepStrictEqual(errors(yield* licensed("3e-400")), [`body.graceDays ${digits}`])
      assert.deepStrictEqual(errors(yield* licensed("3.0e1")), [204])
      assert.deepStrictEqual(errors(yield* licensed("-0")), [204])
      const overage = (percent: string) =>
        post("/licenses/pro/entitlements", `{"entitlementSlug":"calls","value":1,"overagePercent":${percent}}`)
      assert.deepStrictEqual(errors(yield* overage("10.0000000000000000001")), [`body.overagePercent ${digits}`])
      const reserved = (more: string) => post(reservations, `{"quantity":1,${more}}`)
      assert.deepStrictEqual(errors(yield* reserved(`"expiresInSeconds":60.0000000000000001`)), [
        "body.expiresInSeconds must be an integer",
      ])
      assert.match(errors(yield* reserved(`"metadata":{"n":[1e999]}`)).join(), /^body\.metadata\.n must be JSON value/)
      const config = yield* post("/licenses/pro/entitlements", `{"entitlementSlug":"config","value":{"n":-1e999}}`)
      assert.match(errors(config).join(), /^body\.value\.n must be JSON value/)
      const events = yield* send(
        "POST",
        "/usage-events",
        `[${["1e400", "1e-400", "1e21", `"1234567890123456789"`, `"1e99"`, "-0"].map((value, id) => cloudEvent(id, value)).join()}]`,
        { "content-type": "application/cloudevents-batch+json" },
      )
      assert.deepStrictEqual(
        events.body.results.map(({ message, status }: { message?: string; status: string }) => message ?? status),
        [
          "`data.value` must be a number.",
          ...Array.from({ length: 4 }, () => "`data.value` must have at most 18 digits."),
          "accepted",
        ],
      )
      const rows = `{"kind":"instances","rows":[{"name":"i","graceDays":3.00000000000000001}]}`
      const imported = yield* post("/imports", rows)
      assert.strictEqual(imported.body.results[0].status, "rejected", imported.text)
      assert.strictEqual((yield* call("GET", "/customers?limit=1e1")).status, 422)
    }),
  )

  it.effect("do not change other properties of a body: metadata, configurations, numbers with exponents", () =>
    Effect.gen(function* () {
      const { entitlement, metered, post, read } = yield* opened
      yield* metered("calls", -1)
      const { body } = yield* post(
        reservations,
        `{"quantity":1e1,"metadata":{"quantity":${LARGE},"deep":{"n":${FINE}}}}`,
      )
      assert.strictEqual(body.quantity, 10)
      const metadata = { quantity: Number(LARGE), deep: { n: Number(FINE) } }
      assert.deepStrictEqual(body.metadata, metadata)
      assert.deepStrictEqual((yield* read(`/reservations/${body.id}`)).body.metadata, metadata)
      yield* entitlement("config", { type: "CONFIG" })
      const granted = yield* post(
        "/licenses/pro/entitlements",
        `{"entitlementSlug":"config","value":{"value":${LARGE}}}`,
      )
      assert.deepStrictEqual(granted.body.value, { value: Number(LARGE) })
      const listed = yield* read("/licenses/pro/entitlements")
      assert.deepStrictEqual(listed.body.items.at(-1).value, { value: Number(LARGE) })
      yield* post(usage("calls"), `{"value":1.0,"transactionId":"${LARGE}"}`)
      assert.deepStrictEqual(numbers(yield* post(usage("calls"), `{"value":1e3}`), "value"), ["-1", "1001"])
    }),
  )

  it.effect("are rounded in feature flags, whose values are JavaScript numbers", () =>
    Effect.gen(function* () {
      const { entitlement, post } = yield* opened
      yield* entitlement("calls")
      yield* post("/licenses/pro/entitlements", `{"entitlementSlug":"calls","value":${LARGE}}`)
      const flag = yield* post("/ofrep/v1/evaluate/flags/entitlement.calls", `{"context":{"targetingKey":"prod"}}`)
      assert.deepStrictEqual(
        [flag.status, flag.body.value, flag.body.metadata.limit],
        [200, Number(LARGE), Number(LARGE)],
      )
    }),
  )
})
