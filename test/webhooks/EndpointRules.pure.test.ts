import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { canonicalUrl, findUrlError, validateEndpoint } from "../../src/domains/webhooks/endpoints/Rules.ts"
import type { CreateWebhookEndpoint } from "../../src/domains/webhooks/Model.ts"

const allowed = () => Option.none<string>()
const denied = () => Option.some("must be public")

describe("the URL of an endpoint", () => {
  it("is stored as it is called, without a slash of our own", () => {
    assert.deepStrictEqual(["https://a.example", "https://a.example/", "HTTPS://a.example:443/x y"].map(canonicalUrl), [
      "https://a.example",
      "https://a.example/",
      "https://a.example/x%20y",
    ])
  })

  it.each([
    ["https://a.example/x y", "must not contain a space, a backslash or a control character"],
    ["https://a.example\\x", "must not contain a space, a backslash or a control character"],
    ["https://a.example/\u0007", "must not contain a space, a backslash or a control character"],
    ["https:///a.example", "must contain a host"],
    ["https://a.example/#x", "must not contain a fragment, because it is never sent"],
    ["https://a.example/x", undefined],
  ])("%j: %s", (url, expected) => {
    assert.strictEqual(findUrlError(url, allowed), expected)
  })

  it("is denied by the policy before its fragment is", () => {
    assert.strictEqual(findUrlError("https://a.example/#x", denied), "must be public")
  })

  it.each([2047, 2048, 2049])("has at most 2,048 characters when encoded: %d", (length) => {
    const url = `https://a.example/${"x".repeat(length - "https://a.example/ü".length - 5)}ü`
    assert.strictEqual(findUrlError(url, allowed) === undefined, length <= 2048)
    assert.lengthOf(canonicalUrl(url), length)
  })
})

describe("an endpoint", () => {
  const errors = (body: object, policy = allowed) =>
    validateEndpoint(body as CreateWebhookEndpoint, policy).map(({ location, value }) => [location, value])

  it("has each event once, and a URL that may be called", () => {
    assert.deepStrictEqual(errors({ url: "https://a.example", eventNames: ["A", "B"] }), [])
    assert.deepStrictEqual(errors({ eventNames: ["A", "B", "A", "A"] }), [
      ["body.eventNames[2]", "A"],
      ["body.eventNames[3]", "A"],
    ])
    assert.deepStrictEqual(errors({}, denied), [])
    assert.deepStrictEqual(errors({ url: "https://a.example" }, denied), [["body.url", "https://a.example"]])
  })

  it("with a URL that may contain a password does not return it", () => {
    assert.deepStrictEqual(errors({ url: "https://u:p@a.example" }, denied), [["body.url", undefined]])
  })
})
