import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Option } from "effect"
import { SecurityContact } from "../../src/http/routes/SecurityText.ts"
import { Settings } from "../../src/infra/Settings.ts"
import { request } from "../support/http.ts"
import { TestService } from "../support/TestService.ts"

const PATH = "/.well-known/security.txt"
const DAY_MS = 86_400_000

const read = (origin: string, method = "GET", headers: Record<string, string> = {}) =>
  Effect.promise(() => request(method, origin + PATH, { headers }))

const withContact = TestService.separate.pipe(
  Layer.provide(Layer.succeed(SecurityContact, "mailto:security@example.com")),
)

layer(withContact, { excludeTestServices: true })("the security.txt of an installation with a contact", (it) => {
  it.effect("names the contact and expires about a month ahead, without a credential", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { headers, status, text } = yield* read(origins.core)
      assert.strictEqual(status, 200, text)
      assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8")
      const [contact, expires, ...more] = text.split("\n")
      assert.strictEqual(contact, "Contact: mailto:security@example.com")
      assert.match(expires ?? "", /^Expires: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      const days = (Date.parse(expires?.slice("Expires: ".length) ?? "") - Date.now()) / DAY_MS
      assert.isTrue(days > 29.9 && days <= 31, `${days} days`)
      assert.deepStrictEqual(more, [""])
    }),
  )

  it.effect("is read only, and unchanged for those who have it", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const changed = yield* read(origins.core, "PUT")
      assert.deepStrictEqual([changed.status, changed.headers.get("allow")], [405, "GET, HEAD"])
      const { headers } = yield* read(origins.core)
      const again = yield* read(origins.core, "GET", { "if-none-match": headers.get("etag") ?? "" })
      assert.strictEqual(again.status, 304)
    }),
  )

  it.effect("is served by the core listener alone", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      assert.strictEqual((yield* read(origins.platform)).status, 404)
      assert.strictEqual((yield* read(origins.internal)).status, 404)
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("an installation without a contact", (it) => {
  it.effect("has no security.txt", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { body, status } = yield* read(origins.core)
      assert.deepStrictEqual([status, body.code], [404, "Request.RouteNotFound"])
    }),
  )
})

const contactOf = (text: string) =>
  Effect.provide(Settings, Layer.fresh(Settings.layer)).pipe(
    Effect.map(({ securityContact }) => Option.getOrUndefined(securityContact)),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ SERVICE_SECURITY_CONTACT: text }))),
  )

describe("SERVICE_SECURITY_CONTACT", () => {
  it.effect("is an address of mail, a page or a telephone, and off if it is empty", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* contactOf(""))
      for (const text of ["mailto:security@example.com", "https://example.com/security", "tel:+1-201-555-0123"]) {
        assert.strictEqual(yield* contactOf(text), text)
      }
    }),
  )

  it.effect("ends the start with one sentence if it is no such address, or could add a line", () =>
    Effect.gen(function* () {
      for (const text of [
        "security@example.com",
        "http://example.com/security",
        "javascript:alert(1)",
        "mailto:security@example.com\nExpires: 2099-01-01T00:00:00Z",
      ]) {
        assert.strictEqual(
          (yield* Effect.flip(contactOf(text))).message,
          "SERVICE_SECURITY_CONTACT is not valid: expected an address such as mailto:security@example.com or https://example.com/security.",
          text,
        )
      }
    }),
  )
})
