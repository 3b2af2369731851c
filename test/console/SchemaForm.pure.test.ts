import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parseExact } from "../../console/src/kernel/Amount.ts"
import { formOf, isReadable, KEPT, valueOf } from "../../console/src/kernel/forms/SchemaForm.ts"
import type { Field } from "../../console/src/kernel/forms/SchemaForm.ts"
import { adapters } from "../../src/domains/connectors/adapters/BuiltInConnectors.ts"

const Name = Schema.Literals(["a", "b", "constructor"])
const optional = Schema.optionalKey

/** Anything that looks like a schema: known keywords, right or wrong values, references that go anywhere. */
type AnySchema = { readonly [keyword: string]: unknown }
const Nested = Schema.suspend((): Schema.Codec<AnySchema> => AnySchema)
const AnySchema: Schema.Codec<AnySchema> = Schema.Struct({
  type: optional(Schema.Literals(["string", "number", "integer", "boolean", "object", "array", "null", "colour"])),
  properties: optional(Schema.Union([Schema.Record(Name, Nested), Schema.Json])),
  required: optional(Schema.Union([Schema.Array(Name), Schema.Json])),
  items: optional(Schema.Union([Nested, Schema.Json])),
  enum: optional(Schema.Array(Schema.Json)),
  const: optional(Schema.Json),
  default: optional(Schema.Json),
  allOf: optional(Schema.Union([Schema.Array(Nested), Schema.Json])),
  $ref: optional(Schema.Literals(["#", "#/properties/a", "#/allOf/0", "#/nowhere", "#anchor", "https://example.com/"])),
  writeOnly: optional(Schema.Boolean),
  format: optional(Schema.Json),
  title: optional(Schema.Json),
  maxLength: optional(Schema.Json),
  additionalProperties: optional(Schema.Union([Schema.Boolean, Nested])),
  oneOf: optional(Schema.Array(Nested)),
  "x-unknown": optional(Schema.Json),
})

const Value = Schema.Union([
  Schema.Json,
  Schema.Record(
    Name,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null, Schema.Array(Schema.Json)]),
  ),
])

/** A value as a request writes it. */
const written = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

/** Fills a text or a number, as a person types. */
const typed = (field: Field, path: ReadonlyArray<string>, text: string): Field => {
  const [name, ...rest] = path
  if (field.kind === "object") {
    const members = field.members.map(
      ([other, member]) => [other, other === name ? typed(member, rest, text) : member] as const,
    )
    return { ...field, members }
  }
  if (field.kind === "array") {
    const items = [...field.items]
    items[Number(name)] = typed(items[Number(name)] ?? field.next, rest, text)
    return { ...field, items }
  }
  if (field.kind === "choice") throw new Error("A choice is not typed")
  return { ...field, text: text === "" ? undefined : text }
}

const memberOf = (field: Field, name: string): Field => {
  const found = field.kind === "object" ? field.members.find(([other]) => other === name) : undefined
  if (found === undefined) throw new Error(`There is no field ${name} in ${field.kind}`)
  return found[1]
}

describe("a form from JSON Schema", () => {
  it.prop(
    "reads back what was put in, whatever the schema says",
    { schema: AnySchema, value: Value },
    ({ schema, value }) => {
      const form = formOf(schema, value)
      assert.isTrue(isReadable(form))
      assert.deepStrictEqual(written(valueOf(form)), written(value))
    },
    { arbitrary: { runs: 3_000 } },
  )

  it.prop(
    "can be made and read without a value, whatever the schema says",
    { schema: Schema.Union([AnySchema, Schema.Json]) },
    ({ schema }) => {
      const form = formOf(schema, undefined)
      assert.isTrue(isReadable(form))
      written(valueOf(form))
    },
    { arbitrary: { runs: 3_000 } },
  )

  it.prop(
    "keeps numbers of 18 digits",
    {
      digits: Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 10n ** 17n, maximum: 10n ** 18n - 1n })),
      scale: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 17 })),
    },
    ({ digits, scale }) => {
      // A last zero would not be a digit of its own.
      const text = String(digits % 10n === 0n ? digits + 1n : digits)
      const number = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
      const schema = { type: "object", properties: { limit: { type: "number" }, any: {} } }
      const stored = formOf(schema, parseExact(`{"limit":${number}}`))
      assert.strictEqual(JSON.stringify(valueOf(stored)), `{"limit":${number}}`)
      const form = typed(typed(formOf(schema, {}), ["limit"], number), ["any"], `[${number}]`)
      assert.strictEqual(JSON.stringify(valueOf(form)), `{"limit":${number},"any":[${number}]}`)
    },
  )

  it("has a field for each kind of value, and JSON for the rest", () => {
    const kinds = {
      text: { type: "string" },
      number: { type: ["integer", "null"] },
      flag: { type: "boolean" },
      one: { enum: ["eu", "us"] },
      only: { const: 1 },
      list: { type: "array", items: { type: "string" } },
      part: { type: "object", properties: { a: { type: "string" } } },
      free: { type: "object" },
      map: { type: "object", properties: {}, additionalProperties: { type: "string" } },
      choice: { oneOf: [{ type: "string" }, { type: "number" }] },
      branches: { type: "object", properties: { a: {} }, if: {} },
      tuple: { type: "array", items: {}, prefixItems: [] },
      always: true,
    }
    const form = formOf({ type: "object", properties: kinds }, undefined)
    const found = Object.keys(kinds).map((name) => memberOf(form, name).kind)
    const fields = ["text", "number", "choice", "choice", "choice", "array", "object"]
    assert.deepStrictEqual(found, [...fields, "json", "json", "json", "json", "json", "json"])
  })

  it("follows references and allOf, and stops where a reference comes again", () => {
    const schema = {
      $defs: {
        "a/b": { type: "string", title: "Named" },
        tree: { type: "object", properties: { child: { $ref: "#/$defs/tree" } } },
      },
      type: "object",
      allOf: [{ properties: { name: { $ref: "#/$defs/a~1b" } }, required: ["name"] }],
      properties: { name: { maxLength: 5_000 }, tree: { $ref: "#/$defs/tree" } },
    }
    const form = formOf(schema, undefined)
    const name = memberOf(form, "name")
    assert.deepInclude(name, { kind: "text", title: "Named", isRequired: true, isLong: true })
    assert.strictEqual(memberOf(memberOf(form, "tree"), "child").kind, "json")
  })

  it("reads a small schema of many references in bounded time", () => {
    const twice = (name: string) => ({ type: "object", properties: { a: { $ref: name }, b: { $ref: name } } })
    const names = Array.from({ length: 30 }, (_, index) => `#/$defs/${index + 1}`)
    const all = (name: string) => ({ allOf: [{ $ref: name }, { $ref: name }] })
    for (const of of [twice, all]) {
      const $defs = Object.fromEntries(names.map((name, index) => [String(index), of(name)]))
      const form = formOf({ $defs, $ref: "#/$defs/0" }, { a: 1 })
      assert.deepStrictEqual(written(valueOf(form)), { a: 1 })
    }
  })

  it("begins with the defaults if it is new, and adds none to what exists", () => {
    const schema = {
      type: "object",
      required: ["kind"],
      properties: {
        kind: { const: "api" },
        url: { type: "string", default: "https://example.com" },
        on: { type: "boolean" },
      },
    }
    assert.deepStrictEqual(valueOf(formOf(schema, undefined)), { kind: "api", url: "https://example.com" })
    assert.deepStrictEqual(valueOf(formOf(schema, {})), {})
    assert.strictEqual(memberOf(formOf(schema, {}), "url").fallback, "https://example.com")
  })

  it("leaves out what is emptied, and keeps an empty list and an object that were there", () => {
    const schema = {
      type: "object",
      properties: {
        text: { type: "string" },
        list: { type: "array", items: { type: "string" } },
        part: { type: "object", properties: { a: { type: "string" } } },
      },
    }
    const form = formOf(schema, { text: "x", list: [], part: { a: "y" } })
    assert.deepStrictEqual(valueOf(typed(typed(form, ["text"], ""), ["part", "a"], "")), { list: [], part: {} })
    assert.deepStrictEqual(valueOf(typed(formOf(schema, {}), ["list", "0"], "")), { list: [""] })
  })

  it("keeps a stored secret until another is typed", () => {
    for (const { schema } of adapters) {
      const properties: object = Object(schema["properties"])
      const secrets = Object.entries(properties).filter(([, one]) => one.writeOnly === true)
      assert.isAbove(secrets.length, 0)
      for (const [name] of secrets) {
        const form = formOf(schema, { [name]: KEPT })
        const field = memberOf(form, name)
        assert.deepInclude(field, { kind: "text", isSecret: true, text: undefined })
        assert.deepStrictEqual(valueOf(form), { [name]: KEPT })
        assert.deepStrictEqual(valueOf(typed(form, [name], "new")), { [name]: "new" })
      }
    }
  })

  it("sends text that is no number as it is, for the service to refuse, and does not read JSON that is none", () => {
    const schema = { type: "object", properties: { count: { type: "integer" }, free: {} } }
    const form = typed(formOf(schema, {}), ["count"], "many")
    assert.deepStrictEqual(valueOf(form), { count: "many" })
    assert.deepStrictEqual(valueOf(typed(form, ["count"], " 12 ")), { count: 12 })
    assert.isFalse(isReadable(typed(form, ["free"], "{")))
    assert.isTrue(isReadable(typed(form, ["free"], '{"a":1}')))
  })

  it("makes lines of what has some, also of a secret", () => {
    assert.deepInclude(formOf({ type: "string" }, "a\nb"), { kind: "text", isLong: true })
    assert.deepInclude(formOf({ type: "string", maxLength: 16_384, writeOnly: true }, undefined), { isLong: true })
    assert.deepInclude(formOf({ type: "string", maxLength: 100 }, "a"), { isLong: false })
  })
})
