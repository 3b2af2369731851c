import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { rejection } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import { tenantWithCalls } from "./tenant.ts"

const theme = {
  key: "theme",
  name: "Theme",
  description: "Colours",
  type: "string",
  enabled: true,
  metadata: { fallback_value: "light", team: "web" },
  variants: [
    { name: "light", value: "#fff" },
    { name: "dark", value: "#000" },
  ],
  defaultVariant: "light",
  targetings: [
    { name: "pro", conditions: [{ attribute: "plan", operator: "EQUALS", values: ["pro"] }], variant: "dark" },
    { name: "some", conditions: [], variant: "dark", percentage: 12.5 },
  ],
}

layer(TestService.layer, { excludeTestServices: true })("feature flags", (it) => {
  it.effect("creating, updating and deleting a flag emits one event each", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      const created = yield* call("POST", "/feature-flags", theme)
      assert.strictEqual(created.status, 201, created.text)
      assert.strictEqual(created.headers.get("location"), "/api/feature-flags/theme")
      assert.deepInclude(created.body, theme)
      assert.deepStrictEqual((yield* call("GET", "/feature-flags/theme")).body, created.body)
      assert.deepStrictEqual((yield* call("GET", "/feature-flags")).body.items, [created.body])

      const changed = yield* call("PUT", "/feature-flags/theme", {
        enabled: false,
        description: null,
        defaultVariant: null,
        targetings: null,
      })
      assert.strictEqual(changed.status, 204, changed.text)
      const after = (yield* call("GET", "/feature-flags/theme")).body
      assert.deepInclude(after, {
        name: "Theme",
        enabled: false,
        description: null,
        defaultVariant: null,
        variants: theme.variants,
        metadata: theme.metadata,
        createdAt: created.body.createdAt,
      })
      assert.deepStrictEqual(after.targetings, [])

      assert.strictEqual((yield* call("DELETE", "/feature-flags/theme")).status, 204)
      assert.strictEqual((yield* call("GET", "/feature-flags/theme")).body.code, "FeatureFlag.NotFound")
      const events = (yield* call("GET", "/events")).body.items.filter(({ type }: { type: string }) =>
        type.startsWith("FEATURE_FLAG"),
      )
      assert.deepStrictEqual(
        events.map(({ data, type }: { type: string; data: { key: string; enabled: boolean } }) => [
          type,
          data.key,
          data.enabled,
        ]),
        [
          ["FEATURE_FLAG_CREATED", "theme", true],
          ["FEATURE_FLAG_UPDATED", "theme", false],
          ["FEATURE_FLAG_DELETED", "theme", false],
        ],
      )
    }),
  )

  it.effect("a flag with only key and type gets defaults for all other properties", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      const { body } = yield* call("POST", "/feature-flags", { key: "bare", type: "object" })
      assert.deepInclude(body, { key: "bare", name: "bare", description: null, enabled: true, defaultVariant: null })
      assert.deepStrictEqual([body.metadata, body.variants, body.targetings], [{}, [], []])
    }),
  )

  it.effect("a condition without values is accepted only if its operator needs none", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      const flagWith = (key: string, operator: string) => ({
        key,
        type: "boolean",
        variants: [{ name: "on", value: true }],
        targetings: [{ name: "known", conditions: [{ attribute: "email", operator }], variant: "on" }],
      })
      const { body, text } = yield* call("POST", "/feature-flags", flagWith("known", "EXISTS"))
      assert.deepStrictEqual(body.targetings?.[0].conditions[0].values, [], text)
      const rejected = yield* call("POST", "/feature-flags", flagWith("equal", "EQUALS"))
      assert.deepStrictEqual(rejection(rejected).places, ["body.targetings[0].conditions[0].values"])
    }),
  )

  it.effect("concurrent creations of one key in an organization create one flag; the others get 409", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      const other = yield* tenantWithCalls
      const body = { key: "theme", type: "string" }
      const responses = yield* Effect.all(
        Array.from({ length: 4 }, () => call("POST", "/feature-flags", body)),
        { concurrency: 4 },
      )
      assert.sameMembers(
        responses.map(({ status }) => status),
        [201, 409, 409, 409],
      )
      const rejected = responses.find(({ status }) => status === 409)
      assert.strictEqual(rejected?.body.code, "CreateFeatureFlag.KeyTaken")
      assert.strictEqual((yield* other.call("POST", "/feature-flags", body)).status, 201)
      assert.strictEqual((yield* call("POST", "/feature-flags", { ...body, key: "Theme" })).status, 201)
    }),
  )

  it.effect("an inconsistent flag is rejected with the location of every validation error", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      const conditions = [
        { attribute: "plan", operator: "GT", values: ["pro"] },
        { attribute: "version", operator: "SEMVER_GTE", values: ["1.2"] },
        { attribute: "at", operator: "BEFORE", values: ["tomorrow"] },
      ]
      const rejected = yield* call("POST", "/feature-flags", {
        key: "entitlement.seats",
        type: "integer",
        metadata: { fallback_value: 1.5 },
        variants: [
          { name: "a", value: "1" },
          { name: "a", value: 2 },
        ],
        defaultVariant: "b",
        targetings: [
          { name: "x", conditions, variant: "c", percentage: 101 },
          { name: "x", conditions: [], variant: "a", percentage: 0.0001 },
        ],
      })
      assert.deepStrictEqual(rejection(rejected), {
        status: 422,
        code: "Request.ValidationFailed",
        places: [
          "body.key",
          "body.metadata.fallback_value",
          "body.variants[0].value",
          "body.variants[1].name",
          "body.defaultVariant",
          "body.targetings[1].name",
          "body.targetings[0].variant",
          "body.targetings[0].percentage",
          "body.targetings[0].conditions[0].values[0]",
          "body.targetings[0].conditions[1].values[0]",
          "body.targetings[0].conditions[2].values[0]",
          "body.targetings[1].percentage",
        ],
      })
    }),
  )

  it.effect("invalid keys and operators and oversized lists are rejected with their location", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      const on = { name: "on", value: true }
      const condition = { attribute: "a", operator: "IN", values: ["x"] }
      const targeting = { name: "t", conditions: [condition], variant: "on" }
      const many = <A>(count: number, make: (index: number) => A) => Array.from({ length: count }, (_, at) => make(at))
      const cases: ReadonlyArray<readonly [object, string]> = [
        [{ key: "1st" }, "body.key"],
        [{ key: "a/b" }, "body.key"],
        [{ key: "a".repeat(129) }, "body.key"],
        [{ type: "number" }, "body.type"],
        [{ variants: many(101, (index) => ({ name: `v${index}`, value: true })) }, "body.variants"],
        [
          { variants: [on], targetings: many(101, (index) => ({ ...targeting, name: `t${index}` })) },
          "body.targetings",
        ],
        [
          { variants: [on], targetings: [{ ...targeting, conditions: many(21, () => condition) }] },
          "body.targetings[0].conditions",
        ],
        [
          { variants: [on], targetings: [{ ...targeting, conditions: [{ ...condition, values: many(101, String) }] }] },
          "body.targetings[0].conditions[0].values",
        ],
        [
          { variants: [on], targetings: [{ ...targeting, conditions: [{ ...condition, operator: "LIKE" }] }] },
          "body.targetings[0].conditions[0].operator",
        ],
        [{ variants: [{ name: "on" }] }, "body.variants[0].value"],
      ]
      for (const [properties, place] of cases) {
        const rejected = yield* call("POST", "/feature-flags", { key: "flag", type: "boolean", ...properties })
        assert.deepInclude(rejection(rejected), { status: 422, places: [place] }, rejected.text)
      }
      assert.strictEqual(
        (yield* call("POST", "/feature-flags", { key: `a${"b".repeat(127)}`, type: "float" })).status,
        201,
      )
    }),
  )

  it.effect("an update is validated with the unchanged properties, and cannot change key or type", () =>
    Effect.gen(function* () {
      const { call } = yield* tenantWithCalls
      yield* call("POST", "/feature-flags", theme)
      const rejected = yield* call("PUT", "/feature-flags/theme", { variants: [{ name: "light", value: "#eee" }] })
      assert.deepStrictEqual(rejection(rejected).places, ["body.targetings[0].variant", "body.targetings[1].variant"])
      for (const body of [{ key: "other" }, { type: "boolean" }]) {
        assert.strictEqual((yield* call("PUT", "/feature-flags/theme", body)).status, 422)
      }
      assert.deepInclude((yield* call("GET", "/feature-flags/theme")).body, theme)
    }),
  )
})
