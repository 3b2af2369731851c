import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"

interface Rejection {
  readonly location: string
  readonly message: string
  readonly value?: unknown
}

const manyProperties = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]))

const rejections = Effect.fnUntraced(function* (method: string, path: string, body: unknown) {
  const { core, tenant } = yield* TestService
  const { token } = yield* tenant()
  const { body: problem, status } = yield* core(method, path, { token, body })
  assert.strictEqual(status, 422)
  assert.strictEqual(problem.code, "Request.ValidationFailed")
  const errors: ReadonlyArray<Rejection> = problem.errors
  assert.isAtMost(errors.length, 100)
  return errors
})

layer(TestService.layer, { excludeTestServices: true })("a rejected body", (it) => {
  it.effect("of 85,000 unknown properties has the first hundred errors, and none about what was not looked at", () =>
    Effect.gen(function* () {
      const errors = yield* rejections("POST", "/components", manyProperties(85_000))
      assert.deepStrictEqual(
        errors.map(({ location }) => location),
        Array.from({ length: 100 }, (_, n) => `body.k${n}`),
      )
    }),
  )

  it.effect("of 5,000 unknown properties has the same errors", () =>
    Effect.gen(function* () {
      const errors = yield* rejections("POST", "/components", manyProperties(5_000))
      assert.strictEqual(errors.length, 100)
      assert.strictEqual(errors[99]?.location, "body.k99")
    }),
  )

  it.effect("with 200,000 invalid items has a hundred errors by their places", () =>
    Effect.gen(function* () {
      const errors = yield* rejections("POST", "/instances/prod/check", { checks: Array(200_000).fill(1) })
      assert.strictEqual(errors.length, 100)
      assert.strictEqual(errors[0]?.location, "body.checks[0]")
      assert.strictEqual(errors[0]?.value, 1)
    }),
  )

  it.effect("with too many values says so, if nothing at its beginning is wrong", () =>
    Effect.gen(function* () {
      const errors = yield* rejections("POST", "/usage-events", { id: "1", data: Array(40_000).fill(1) })
      assert.deepStrictEqual(errors, [{ location: "body", message: "must have at most 30000 properties and items" }])
    }),
  )

  it.effect("with an error behind its first 2,000 values names the place of that error", () =>
    Effect.gen(function* () {
      const targetings = Array.from({ length: 20 }, (_, number) => ({
        name: `targeting-${number}`,
        variant: "on",
        conditions: [{ attribute: "plan", operator: "IN", values: Array.from({ length: 100 }, (_, n) => `p${n}`) }],
      }))
      const errors = yield* rejections("POST", "/feature-flags", {
        key: "flag",
        type: "boolean",
        variants: [{ name: "on", value: true }],
        targetings,
        strange: 1,
      })
      assert.strictEqual(errors[0]?.location, "body.strange")
    }),
  )

  it.effect("that is long and not JSON is malformed, and one of many values too", () =>
    Effect.gen(function* () {
      const { core, tenant } = yield* TestService
      const { token } = yield* tenant()
      for (const count of [3_000, 85_000]) {
        const text = JSON.stringify(manyProperties(count))
        const { body, status } = yield* core("POST", "/usage-events", {
          token,
          rawBody: `{"a" 1,${text.slice(1)}`,
          headers: { "content-type": "application/json" },
        })
        assert.strictEqual(status, 400, `${count}`)
        assert.strictEqual(body.code, "Request.MalformedBody")
      }
    }),
  )

  it.effect("does not quote long values", () =>
    Effect.gen(function* () {
      const [long, short] = yield* rejections("POST", "/components", {
        name: { a: "x".repeat(900_000) },
        version: { a: "x" },
      })
      assert.deepStrictEqual([long?.location, long?.value], ["body.name", undefined])
      assert.deepStrictEqual([short?.location, short?.value], ["body.version", { a: "x" }])
    }),
  )
})
