import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createShop } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

const FLAGS = "/ofrep/v1/evaluate/flags"

const RUNNING = { startLicenseDate: "2025-01-01T00:00:00.000Z", endLicenseDate: "2099-01-01T00:00:00.000Z" }

const open = Effect.gen(function* () {
  const service = yield* TestService
  const shop = yield* createShop
  yield* shop.license("pro")
  yield* shop.customer("Acme")
  const zone = yield* shop.zone("EU")
  yield* shop.instance("Prod", "acme", "pro", { ...RUNNING, deploymentZoneId: zone.id })
  yield* shop.instance("Old", "acme", "pro")
  yield* shop.entitlement("seats")
  yield* shop.entitlement("calls")
  yield* shop.entitlement("full")
  yield* shop.entitlement("sso", { type: "BOOLEAN" })
  yield* shop.entitlement("audit", { type: "BOOLEAN" })
  yield* shop.entitlement("theme", { type: "CONFIG" })
  yield* shop.grant("pro", "seats", 10)
  yield* shop.grant("pro", "calls", -1)
  yield* shop.grant("pro", "sso", true)
  yield* shop.grant("pro", "theme", { colors: { main: "red" } })
  const evaluate = (key: string, context: object, token = shop.tenant.token) =>
    service.core("POST", `${FLAGS}/${key}`, { token, body: { context } })
  const all = (context: object, token = shop.tenant.token) => service.core("POST", FLAGS, { token, body: { context } })
  const licenseKey = Effect.map(
    shop.call("POST", "/instances/prod/keys", { name: "site", scopes: ["read:feature_flags"] }),
    ({ body }) => body.token as string,
  )
  return { ...service, ...shop, evaluate, all, licenseKey }
})

/** A boolean flag that is on if a condition holds. */
const flagOn = (key: string, condition: object, more: object = {}) => ({
  key,
  type: "boolean",
  variants: [
    { name: "on", value: true },
    { name: "off", value: false },
  ],
  defaultVariant: "off",
  targetings: [{ name: "t", conditions: [condition], variant: "on", ...more }],
})

const conditions: ReadonlyArray<readonly [attribute: string, operator: string, values: ReadonlyArray<unknown>]> = [
  ["keyshelf.instance.slug", "EQUALS", ["prod"]],
  ["keyshelf.customer.slug", "IN", ["acme"]],
  ["keyshelf.license.slug", "EQUALS", ["pro"]],
  ["keyshelf.license.family", "STARTS_WITH", ["pro"]],
  ["keyshelf.license.type", "EQUALS", ["PAID"]],
  ["keyshelf.zone.slug", "EQUALS", ["eu"]],
  ["keyshelf.zone.type", "EQUALS", ["production"]],
  ["keyshelf.release.version", "EXISTS", [false]],
  ["keyshelf.entitlements.sso", "EQUALS", [true]],
  ["keyshelf.entitlements.audit", "EXISTS", [false]],
  ["keyshelf.entitlements.seats", "GTE", [10]],
  ["keyshelf.entitlements.calls", "EQUALS", [-1]],
  ["keyshelf.entitlements.theme.colors.main", "EQUALS", ["red"]],
  ["keyshelf.entitlements.No slug", "EXISTS", [false]],
]

layer(TestService.layer, { excludeTestServices: true })("conditions on facts", (it) => {
  it.effect("compare what the service knows of the instance, one by one and all together", () =>
    Effect.gen(function* () {
      const { all, call, evaluate } = yield* open
      for (const [index, [attribute, operator, values]] of conditions.entries()) {
        const created = yield* call("POST", "/feature-flags", flagOn(`f${index}`, { attribute, operator, values }))
        assert.strictEqual(created.status, 201, created.text)
        const { body } = yield* evaluate(`f${index}`, { targetingKey: "prod" })
        assert.deepStrictEqual([body.value, body.reason], [true, "TARGETING_MATCH"], attribute)
      }
      const { body } = yield* all({ targetingKey: "prod" })
      const flags = body.flags.filter(({ key }: { key: string }) => key.startsWith("f"))
      assert.strictEqual(flags.length, conditions.length)
      for (const { key, value } of flags) assert.isTrue(value, key)
    }),
  )

  it.effect("are not what a caller says, and miss without an instance", () =>
    Effect.gen(function* () {
      const { all, call, evaluate } = yield* open
      const family = { attribute: "keyshelf.license.family", operator: "EQUALS", values: ["max"] }
      yield* call("POST", "/feature-flags", flagOn("max", family))
      yield* call("POST", "/feature-flags", flagOn("not-max", { ...family, operator: "NOT_EQUALS" }))
      const claimed = { keyshelf: { license: { family: "max" } }, "keyshelf.license.family": "max" }
      for (const context of [claimed, { ...claimed, targetingKey: "prod" }, { ...claimed, targetingKey: "nowhere" }]) {
        assert.strictEqual((yield* evaluate("max", context)).body.value, false)
        assert.strictEqual((yield* evaluate("not-max", context)).body.value, true)
        const { body } = yield* all(context)
        const values = Object.fromEntries(body.flags.map(({ key, value }: Record<string, unknown>) => [key, value]))
        assert.deepInclude(values, { max: false, "not-max": true })
      }
    }),
  )

  it.effect("know what is granted also when the license has ended", () =>
    Effect.gen(function* () {
      const { call, evaluate } = yield* open
      const sso = { attribute: "keyshelf.entitlements.sso", operator: "EQUALS", values: [true] }
      yield* call("POST", "/feature-flags", flagOn("sso", sso))
      assert.strictEqual((yield* evaluate("sso", { targetingKey: "old" })).body.value, true)
      assert.strictEqual((yield* evaluate("entitlement.sso", { targetingKey: "old" })).body.value, false)
    }),
  )

  it.effect("are in the flags of offline bundles", () =>
    Effect.gen(function* () {
      const { call } = yield* open
      const zone = { attribute: "keyshelf.zone.slug", operator: "EQUALS", values: ["eu"] }
      yield* call("POST", "/feature-flags", flagOn("zone", zone))
      const issued = yield* call("POST", "/instances/prod/offline-bundles", {})
      assert.strictEqual(issued.status, 201, issued.text)
      const [, payload = ""] = (issued.body.bundle as string).split(".")
      assert.deepStrictEqual(JSON.parse(Buffer.from(payload, "base64url").toString()).flags, { zone: true })
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("a license key with any targeting key", (it) => {
  it.effect("buckets and matches by it, with the entitlements and facts of its own instance", () =>
    Effect.gen(function* () {
      const { all, call, evaluate, licenseKey } = yield* open
      const key = yield* licenseKey
      const instance = { attribute: "keyshelf.instance.slug", operator: "EQUALS", values: ["prod"] }
      const anna = { attribute: "targetingKey", operator: "EQUALS", values: ["anna"] }
      yield* call("POST", "/feature-flags", flagOn("mine", instance))
      yield* call("POST", "/feature-flags", flagOn("anna", anna))
      yield* call("POST", "/feature-flags", flagOn("split", instance, { percentage: 50 }))
      const splits = new Set<unknown>()
      for (const targetingKey of ["anna", "old", "nowhere", "No slug", "x", "y", "z"]) {
        const { body, status } = yield* all({ targetingKey }, key)
        assert.strictEqual(status, 200)
        const values = Object.fromEntries(
          body.flags.map((flag: Record<string, unknown>) => [flag["key"], flag["value"]]),
        )
        assert.deepInclude(values, { mine: true, anna: targetingKey === "anna", "entitlement.sso": true })
        const split = yield* evaluate("split", { targetingKey }, key)
        assert.strictEqual(split.body.value, values["split"])
        splits.add(split.body.value)
        assert.strictEqual((yield* evaluate("entitlement.seats", { targetingKey }, key)).body.value, 10)
      }
      assert.sameMembers([...splits], [true, false])
      assert.deepStrictEqual((yield* all({}, key)).body.flags, (yield* all({ targetingKey: "prod" }, key)).body.flags)
      const missing = yield* evaluate("entitlement.nowhere", { targetingKey: "anna" }, key)
      assert.deepStrictEqual([missing.status, missing.body.errorCode], [404, "FLAG_NOT_FOUND"])
    }),
  )
})
