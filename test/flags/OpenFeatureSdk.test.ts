/** Tests the OpenFeature SDK with its OFREP provider, as products use them, against the running service. */
import { assert, layer } from "@effect/vitest"
import { OFREPProvider } from "@openfeature/ofrep-provider"
import { ErrorCode, OpenFeature } from "@openfeature/server-sdk"
import { Effect } from "effect"
import { createShop } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"

/** Creates an SDK client that authenticates with a token. */
const clientFor = (origin: string, token: string) =>
  Effect.promise(async () => {
    const provider = new OFREPProvider({ baseUrl: `${origin}/api`, headers: [["Authorization", `Bearer ${token}`]] })
    const domain = crypto.randomUUID()
    await OpenFeature.setProviderAndWait(domain, provider)
    return OpenFeature.getClient(domain)
  })

const flagShop = Effect.gen(function* () {
  const shop = yield* createShop
  const { origins } = yield* TestService
  const client = yield* clientFor(origins.core, shop.tenant.token)
  const flag = (key: string, type: string, off: unknown, on: unknown, more: object = {}) =>
    Effect.map(
      shop.call("POST", "/feature-flags", {
        key,
        type,
        variants: [
          { name: "off", value: off },
          { name: "on", value: on },
        ],
        defaultVariant: "off",
        targetings: [
          { name: "pro", conditions: [{ attribute: "plan", operator: "IN", values: ["pro", "max"] }], variant: "on" },
        ],
        ...more,
      }),
      ({ status, text }) => assert.strictEqual(status, 201, text),
    )
  return { ...shop, origins, client, flag }
})

layer(TestService.layer, { excludeTestServices: true })("the OpenFeature SDK", (it) => {
  it.effect("the SDK evaluates targeted flags of every type", () =>
    Effect.gen(function* () {
      const { client, flag } = yield* flagShop
      yield* flag("search", "boolean", false, true)
      yield* flag("theme", "string", "light", "dark")
      yield* flag("most", "integer", 10, 100)
      yield* flag("share", "float", 0.5, 0.75)
      yield* flag("limits", "object", { a: 1 }, { a: { b: [2] } })
      const [free, pro] = [{ targetingKey: "anna" }, { targetingKey: "anna", plan: "pro" }]
      yield* Effect.promise(async () => {
        assert.strictEqual(await client.getBooleanValue("search", true, free), false)
        assert.strictEqual(await client.getBooleanValue("search", false, pro), true)
        assert.strictEqual(await client.getStringValue("theme", "", free), "light")
        assert.strictEqual(await client.getStringValue("theme", "", pro), "dark")
        assert.strictEqual(await client.getNumberValue("most", 0, pro), 100)
        assert.strictEqual(await client.getNumberValue("share", 0, pro), 0.75)
        assert.deepStrictEqual(await client.getObjectValue("limits", {}, pro), { a: { b: [2] } })
        const details = await client.getStringDetails("theme", "", pro)
        assert.deepInclude(details, { value: "dark", variant: "on", reason: "TARGETING_MATCH" })
        assert.strictEqual((await client.getStringDetails("theme", "", free)).reason, "STATIC")
      })
    }),
  )

  it.effect("the SDK evaluates a rollout, and reports a missing targeting key", () =>
    Effect.gen(function* () {
      const { client, flag } = yield* flagShop
      yield* flag("all", "boolean", false, true, {
        targetings: [{ name: "all", conditions: [], variant: "on", percentage: 100 }],
      })
      yield* Effect.promise(async () => {
        assert.deepInclude(await client.getBooleanDetails("all", false, { targetingKey: "anna" }), {
          value: true,
          reason: "SPLIT",
        })
        const missing = await client.getBooleanDetails("all", false, {})
        assert.deepInclude(missing, { value: false, errorCode: ErrorCode.TARGETING_KEY_MISSING })
      })
    }),
  )

  it.effect(
    "the SDK uses the default in the code if a flag is missing, disabled, of another type or not accessible",
    () =>
      Effect.gen(function* () {
        const { client, flag, origins } = yield* flagShop
        yield* flag("theme", "string", "light", "dark", { enabled: false })
        yield* flag("kept", "string", "light", "dark", { enabled: false, metadata: { fallback_value: "plain" } })
        const unauthenticated = yield* clientFor(origins.core, "ksh_unknown")
        yield* Effect.promise(async () => {
          const context = { targetingKey: "anna", plan: "pro" }
          const unknown = await client.getStringDetails("unheard-of", "mine", context)
          assert.deepInclude(unknown, { value: "mine", errorCode: ErrorCode.FLAG_NOT_FOUND })
          assert.strictEqual(await client.getStringValue("theme", "mine", context), "mine")
          assert.deepInclude(await client.getStringDetails("kept", "mine", context), {
            value: "plain",
            reason: "DISABLED",
          })
          assert.strictEqual(await client.getBooleanValue("kept", true, context), true)
          assert.strictEqual(await unauthenticated.getStringValue("kept", "mine", context), "mine")
        })
      }),
  )

  it.effect("the SDK evaluates the entitlements of an instance", () =>
    Effect.gen(function* () {
      const { client, customer, entitlement, grant, instance, license } = yield* flagShop
      yield* license("pro")
      yield* customer("Acme")
      yield* instance("Prod", "acme", "pro", { endLicenseDate: "2099-01-01T00:00:00.000Z" })
      yield* entitlement("seats")
      yield* entitlement("sso", { type: "BOOLEAN" })
      yield* entitlement("regions", { type: "CONFIG" })
      yield* grant("pro", "seats", 5)
      yield* grant("pro", "sso", true)
      yield* grant("pro", "regions", { list: ["eu"] })
      yield* Effect.promise(async () => {
        const context = { targetingKey: "prod" }
        assert.strictEqual(await client.getBooleanValue("entitlement.sso", false, context), true)
        assert.strictEqual(await client.getNumberValue("entitlement.seats", 0, context), 5)
        assert.deepStrictEqual(await client.getObjectValue("entitlement.regions", {}, context), { list: ["eu"] })
        const details = await client.getBooleanDetails("entitlement.sso", false, context)
        assert.deepInclude(details.flagMetadata, { allowed: true, checkReason: "GRANTED" })
        const nowhere = await client.getBooleanDetails("entitlement.sso", false, { targetingKey: "nowhere" })
        assert.deepInclude(nowhere, { value: false, errorCode: ErrorCode.FLAG_NOT_FOUND })
      })
    }),
  )
})
