import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { holdsSecrets, redact, secretsOf, settingsAt } from "../../src/domains/connectors/settings/Redaction.ts"
import { sanitize } from "../../src/domains/connectors/settings/TextSanitizer.ts"

const schema = {
  properties: {
    pin: { type: "number", writeOnly: true },
    hooks: { items: { properties: { code: { type: "integer", writeOnly: true }, url: { type: "string" } } } },
    account: { type: "object", writeOnly: true },
    region: { type: "string" },
  },
}
const at = settingsAt(schema)

describe("the secrets of settings", () => {
  it("are texts and numbers, at any depth of what is secret, and nothing else", () => {
    const settings = {
      pin: 4711.5,
      hooks: [{ code: 815, url: "https://example.com" }, { code: null }],
      account: { user: "ann", keys: [7, "seven", true, null], since: { year: 1999 } },
      region: "eu",
    }
    assert.deepStrictEqual(secretsOf(at, settings), ["4711.5", "815", "ann", "7", "seven", "1999"])
  })

  it("are there if one has a value of any type, also false and 0, but not null", () => {
    const held: ReadonlyArray<readonly [boolean, unknown]> = [
      [true, { pin: 0 }],
      [true, { account: false }],
      [true, { hooks: [{ url: "x" }, { code: 1 }] }],
      [false, { hooks: [{ url: "x" }] }],
      [false, { pin: null, region: "eu" }],
      [false, {}],
      [false, "text"],
      [false, null],
    ]
    for (const [expected, value] of held) assert.strictEqual(holdsSecrets(at, value), expected, JSON.stringify(value))
  })

  it("are masked if they are numbers, in lists too", () => {
    assert.deepStrictEqual(redact(at, { pin: 0, hooks: [{ code: 5, url: "u" }], account: null }), {
      pin: "***",
      hooks: [{ code: "***", url: "u" }],
      account: null,
    })
  })
})

describe("a message of a provider", () => {
  it("has no secret number, also inside of a longer text", () => {
    const secrets = secretsOf(at, { pin: 9876543, hooks: [{ code: 4711 }] })
    assert.strictEqual(
      sanitize("PIN 9876543 is wrong: id9876543x, code=4711;", secrets),
      "PIN *** is wrong: id***x, code=***;",
    )
  })

  it("masks a secret that contains another one as a whole, in whatever order they are known", () => {
    for (const secrets of [
      ["abc", "xabcx"],
      ["xabcx", "abc"],
    ]) {
      assert.strictEqual(sanitize("xabcx and abc", secrets), "*** and ***")
    }
  })

  it.each([
    ["as it is", 'a"b\nc/d~ü'],
    ["on one line", 'a"b c/d~ü'],
    ["as JSON", 'a\\"b\\nc/d~ü'],
    ["as a part of a URL", encodeURIComponent('a"b\nc/d~ü')],
    ["as Base64", Buffer.from('a"b\nc/d~ü').toString("base64")],
    ["as Base64 for URLs", Buffer.from('a"b\nc/d~ü').toString("base64url")],
    ["as a user of HTTP", Buffer.from('a"b\nc/d~ü:').toString("base64")],
  ])("masks a secret that is quoted %s", (_, quoted) => {
    assert.strictEqual(sanitize(`<${quoted}>`, ['a"b\nc/d~ü']), "<***>")
  })

  it("masks lines of a secret that have 8 characters or more", () => {
    const key = "12345678\r\nabcdefg\nABCDEFGHI"
    assert.strictEqual(sanitize("12345678, abcdefg, ABCDEFGHI", [key]), "***, abcdefg, ***")
    assert.strictEqual(sanitize("pin 42", ["42"]), "pin ***")
  })

  it("stays as it is for an empty secret, and for one that is the mask itself", () => {
    assert.strictEqual(sanitize("a *** b", ["", "***"]), "a *** b")
  })

  it("is one line without control characters", () => {
    assert.strictEqual(sanitize("\u0000a\r\n\tb\u200b\u2028c\ud800 ", []), "a b c\ufffd")
  })

  it.each([199, 200, 201])("has at most 200 characters: of %d", (length) => {
    const shown = sanitize("🔑".repeat(length), [])
    assert.strictEqual(shown, length <= 200 ? "🔑".repeat(length) : `${"🔑".repeat(199)}…`)
  })

  it("is shortened after its secrets are masked, so that none is cut in two", () => {
    const shown = sanitize(`${"x".repeat(195)}s3cret-value`, ["s3cret-value"])
    assert.strictEqual(shown, `${"x".repeat(195)}***`)
  })

  const word = Arbitrary.schema(Schema.String.check(Schema.isPattern(/^[a-z0-9]{3,12}$/)))
  it.prop("never contains a secret, wherever it is", [word, word, word], ([before, secret, after]) => {
    assert.notInclude(sanitize(`${before}${secret}${after}`, [secret, before]), secret)
  })
})
