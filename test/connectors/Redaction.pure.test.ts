import { assert, describe, it } from "@effect/vitest"
import { changedExposures, merge, removeFormerSecrets } from "../../src/domains/connectors/settings/SettingsMerge.ts"
import { redact, settingsAt } from "../../src/domains/connectors/settings/Redaction.ts"
import { lint } from "../../src/domains/connectors/schema/SchemaLint.ts"
import { randomCase } from "./support.ts"

type Json = { readonly [name: string]: unknown }

const secret = { type: "string", writeOnly: true }
const merged = (schema: Json, sent: Json, stored: Json | undefined) =>
  merge(settingsAt(schema), sent, stored, "body.settings")
const redacted = (schema: Json, value: Json) => redact(settingsAt(schema), value)

describe("redaction", () => {
  it("masks every secret of random schemas", () => {
    let seen = 0
    for (let seed = 1; seed <= 3000; seed++) {
      const { schema, secrets, value } = randomCase(seed, { arraysOfSecrets: true })
      const shown = JSON.stringify(redacted(schema, value))
      seen += secrets.length
      for (const text of secrets) assert.notInclude(shown, text, `seed ${seed}: ${JSON.stringify(schema)}`)
    }
    assert.isAbove(seen, 3000)
  })

  it("sending redacted settings back restores the stored settings", () => {
    for (let seed = 1; seed <= 3000; seed++) {
      const { schema, value } = randomCase(seed, { arraysOfSecrets: false })
      const result = merged(schema, redacted(schema, value), value)
      assert.deepStrictEqual(result.errors, [], `seed ${seed}: ${JSON.stringify(schema)}`)
      assert.deepStrictEqual(result.settings, value, `seed ${seed}: ${JSON.stringify(schema)}`)
    }
  })

  it("omitting settings retains every secret", () => {
    for (let seed = 1; seed <= 1000; seed++) {
      const { schema, secrets, value } = randomCase(seed, { arraysOfSecrets: true })
      const kept = JSON.stringify(merged(schema, {}, value).settings)
      for (const text of secrets) assert.include(kept, text, `seed ${seed}`)
    }
  })

  const shapes: ReadonlyArray<readonly [name: string, schema: Json]> = [
    ["properties", { properties: { a: { properties: { b: secret } } } }],
    ["$ref", { properties: { a: { $ref: "#/$defs/x~1y" } }, $defs: { "x/y": { properties: { b: secret } } } }],
    [
      "$ref to a percent-encoded name",
      { properties: { a: { $ref: "#/$defs/x%20y" } }, $defs: { "x y": { properties: { b: secret } } } },
    ],
    [
      "a chain of $refs",
      {
        $ref: "#/$defs/one",
        $defs: { one: { $ref: "#/$defs/two" }, two: { properties: { a: { properties: { b: secret } } } } },
      },
    ],
    ["a recursive $ref", { properties: { a: { $ref: "#" }, b: secret } }],
    [
      "a cycle of $refs",
      {
        allOf: [{ $ref: "#" }, { $ref: "#/$defs/x" }],
        $defs: { x: { $ref: "#", properties: { a: { properties: { b: secret } } } } },
      },
    ],
    ["allOf", { allOf: [{ properties: { a: { allOf: [{ properties: { b: secret } }] } } }] }],
    [
      "a branch of anyOf that does not validate",
      { anyOf: [{ required: ["z"], properties: { a: { properties: { b: secret } } } }, {}] },
    ],
    [
      "a branch of oneOf that does not validate",
      { oneOf: [{ properties: { kind: { const: "x" }, a: { properties: { b: secret } } }, required: ["kind"] }, {}] },
    ],
    ["if", { if: { properties: { a: { properties: { b: secret } } } } }],
    ["then", JSON.parse('{"if": {"required": ["z"]}, "then": {"properties": {"a": {"writeOnly": true}}}}') as Json],
    ["else", { if: {}, else: { properties: { a: { properties: { b: secret } } } } }],
    ["additionalProperties", { additionalProperties: { additionalProperties: secret } }],
    ["patternProperties", { patternProperties: { "^a$": { patternProperties: { "^b$": secret } } } }],
    ["dependentSchemas", { dependentSchemas: { z: { properties: { a: { properties: { b: secret } } } } } }],
    ["unevaluatedProperties", { unevaluatedProperties: { unevaluatedProperties: secret } }],
    ["a whole object", { properties: { a: { writeOnly: true } } }],
    ["an unknown keyword", { properties: { a: { properties: { b: {} }, ifNotThen: {} } } }],
    ["a $ref that does not resolve", { properties: { a: { $ref: "#/$defs/gone" } } }],
    ["a $ref to another document", { properties: { a: { $ref: "https://example.com/schema" } } }],
    ["a $dynamicRef", { properties: { a: { $dynamicRef: "#x" } } }],
    ["a schema that is a string", { properties: { a: "secret" } }],
    ["a writeOnly that is not a boolean", { properties: { a: { properties: { b: { writeOnly: "yes" } } } } }],
    ["an invalid pattern", { properties: { a: { patternProperties: { "(": secret } } } }],
    ["a nested $id", { properties: { a: { $id: "https://example.com/x", $ref: "#/$defs/x" } }, $defs: { x: {} } }],
  ]
  for (const [name, schema] of shapes) {
    it(`masks a secret under ${name}`, () => {
      assert.notInclude(JSON.stringify(redacted(schema, { a: { b: "s3cret" } })), "s3cret")
    })
  }

  it("masks the secrets of array items", () => {
    const lists: ReadonlyArray<Json> = [
      { items: secret },
      { prefixItems: [secret] },
      { items: { properties: { b: secret } } },
      { prefixItems: [{}], items: { properties: { b: secret } } },
      { contains: { properties: { b: secret } } },
      { unevaluatedItems: { properties: { b: secret } } },
    ]
    for (const list of lists) {
      const value = {
        a:
          list["prefixItems"] && list["items"]
            ? ["x", { b: "s3cret" }]
            : [list["items"] === secret || list["prefixItems"] ? "s3cret" : { b: "s3cret" }],
      }
      assert.notInclude(JSON.stringify(redacted({ properties: { a: list } }, value)), "s3cret", JSON.stringify(list))
    }
  })

  it("shows other values, and null for a secret that is not set", () => {
    const schema = { properties: { a: secret, b: { type: "string" } }, required: ["b"] }
    assert.deepStrictEqual(redacted(schema, { a: null, b: "***", c: 1 }), { a: null, b: "***", c: 1 })
  })

  it("keeps a property named __proto__", () => {
    const value = JSON.parse('{"__proto__": {"a": "x"}}') as Json
    assert.strictEqual(JSON.stringify(redacted({}, value)), '{"__proto__":{"a":"x"}}')
    assert.strictEqual(JSON.stringify(merged({}, value, undefined).settings), '{"__proto__":{"a":"x"}}')
  })
})

describe("merging settings", () => {
  const item = { type: "object", properties: { id: { type: "string" }, url: { type: "string" }, token: secret } }
  const list: Json = { properties: { hooks: { type: "array", items: item } } }
  const stored = {
    hooks: [
      { id: "a", token: "ta" },
      { id: "b", token: "tb" },
    ],
  }

  it("matches items by their identity, never by position", () => {
    const sent = { hooks: [{ id: "b", token: "***" }, { id: "c", token: "tc" }, { id: "a" }] }
    assert.deepStrictEqual(merged(list, sent, stored).settings, {
      hooks: [
        { id: "b", token: "tb" },
        { id: "c", token: "tc" },
        { id: "a", token: "ta" },
      ],
    })
  })

  it("rejects `***` in an item that is not stored, has no identity, or shares it", () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<object>, string]> = [
      [[{ id: "c", token: "***" }], "body.settings.hooks[0].token"],
      [[{ id: "a" }, { token: "***" }], "body.settings.hooks[1].token"],
      [[{ id: "a" }, { id: "a", token: "***" }], "body.settings.hooks[1].token"],
    ]
    for (const [hooks, location] of cases) {
      assert.deepStrictEqual(
        merged(list, { hooks }, stored).errors.map(({ location }) => location),
        [location],
      )
    }
    const strings: Json = { properties: { keys: { items: secret } } }
    assert.lengthOf(merged(strings, { keys: ["***"] }, { keys: ["x"] }).errors, 1)
  })

  it("rejects `***` without a stored value, also inside a secret", () => {
    const schema: Json = { properties: { a: secret, b: { type: "object", writeOnly: true } } }
    assert.lengthOf(merged(schema, { a: "***" }, undefined).errors, 1)
    assert.lengthOf(merged(schema, { a: "***" }, { a: null }).errors, 1)
    assert.lengthOf(merged(schema, { b: { x: "***" } }, { b: { x: "y" } }).errors, 1)
  })

  it("stores `***` as a value that is not secret", () => {
    assert.deepStrictEqual(merged({ properties: { a: { type: "string" } } }, { a: "***" }, { a: "x" }).settings, {
      a: "***",
    })
  })

  it("retains an omitted array with secrets, and removes it if an empty one is sent", () => {
    assert.deepStrictEqual(merged(list, {}, stored).settings, stored)
    assert.deepStrictEqual(merged(list, { hooks: [] }, stored).settings, { hooks: [] })
  })

  it("removes secrets that only an older schema marks", () => {
    const older: Json = { properties: { old: secret, both: secret, list: { items: { properties: { x: secret } } } } }
    const newer: Json = { properties: { both: secret } }
    const value = { old: "1", both: "2", list: [{ x: "3", y: "4" }] }
    assert.deepStrictEqual(removeFormerSecrets(settingsAt(newer, older), settingsAt(newer), value), {
      both: "2",
      list: [{ y: "4" }],
    })
  })
})

describe("addresses that secrets are sent to", () => {
  const schema: Json = {
    properties: {
      url: { type: "string", default: "https://default", "x-exposes-secrets": true },
      hooks: { items: { properties: { id: {}, url: { "x-exposes-secrets": true }, token: secret } } },
    },
  }
  const changed = (before: Json, after: Json) => changedExposures(settingsAt(schema), before, after, "body.settings")

  it("an absent address is compared as its default", () => {
    assert.deepStrictEqual(changed({}, { url: "https://default" }), [])
    assert.deepStrictEqual(changed({ url: "https://default" }, {}), [])
    assert.deepStrictEqual(changed({ url: "https://other" }, {}), ["body.settings.url"])
    assert.deepStrictEqual(changed({}, { url: "https://other" }), ["body.settings.url"])
  })

  it("addresses in array items are compared by the items' identities", () => {
    const before = {
      hooks: [
        { id: 1, url: "a" },
        { id: 2, url: "b" },
      ],
    }
    assert.deepStrictEqual(
      changed(before, {
        hooks: [
          { id: 2, url: "b" },
          { id: 1, url: "a" },
        ],
      }),
      [],
    )
    assert.deepStrictEqual(changed(before, { hooks: [{ id: 2, url: "b" }] }), [])
    assert.deepStrictEqual(changed(before, { hooks: [{ id: 2, url: "evil" }] }), ["body.settings.hooks[0].url"])
  })
})

describe("the lint of settings schemas", () => {
  it("accepts schemas that redaction understands", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const { schema } = randomCase(seed, { arraysOfSecrets: true })
      assert.deepStrictEqual(lint(schema), [], `seed ${seed}: ${JSON.stringify(schema)}`)
    }
  })

  const rejected: ReadonlyArray<readonly [string, Json]> = [
    ["body.settings_schema.type", {}],
    ["body.settings_schema.$schema", { type: "object", $schema: "http://json-schema.org/draft-07/schema#" }],
    ["body.settings_schema.writeOnly", { type: "object", writeOnly: true }],
    ["body.settings_schema.properties.a.$ref", { type: "object", properties: { a: { $ref: "https://example.com" } } }],
    ["body.settings_schema.properties.a.$ref", { type: "object", properties: { a: { $ref: "#/$defs/none" } } }],
    ["body.settings_schema.properties.a.$ref", { type: "object", properties: { a: { $ref: "#anchor" } } }],
    ["body.settings_schema.properties.a.$id", { type: "object", properties: { a: { $id: "x" } } }],
    ["body.settings_schema.properties.a.$dynamicRef", { type: "object", properties: { a: { $dynamicRef: "#x" } } }],
    ["body.settings_schema.properties.a.nullable", { type: "object", properties: { a: { nullable: true } } }],
    ["body.settings_schema.properties.a.writeOnly", { type: "object", properties: { a: { writeOnly: 1 } } }],
    [
      "body.settings_schema.allOf[0].propertyNames",
      { type: "object", allOf: [{ propertyNames: { writeOnly: true } }] },
    ],
    ["body.settings_schema", { type: "object", properties: { a: { type: "text" } } }],
    ["body.settings_schema", { type: "object", properties: { a: { pattern: "(" } } }],
    ["body.settings_schema.patternProperties", { type: "object", patternProperties: { "(": {} } }],
  ]
  for (const [location, schema] of rejected) {
    it(`rejects ${JSON.stringify(schema)}`, () => {
      assert.deepStrictEqual(
        lint(schema).map(({ location }) => location),
        [location],
      )
    })
  }
})
