import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { MASK, redact, settingsAt } from "../../src/domains/connectors/settings/Redaction.ts"
import { mergeAccepted } from "../../src/domains/connectors/settings/AcceptedMerge.ts"
import { settingsErrors } from "../../src/domains/connectors/schema/SettingsValidator.ts"
import { cpuMillis } from "../support/cpuTime.ts"

type Json = { readonly [name: string]: unknown }

const text = { type: "string" }
const secret = { type: "string", writeOnly: true }
const nullable = { type: ["string", "null"], writeOnly: true }
const object = (properties: Json, required: ReadonlyArray<string> = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
})

const basic = object({ user: text, password: secret }, ["user", "password"])
const bearer = object({ token: secret }, ["token"])
const hooks = { type: "array", items: object({ id: text, key: secret }, ["id", "key"]) }
const twoHooks = [
  { id: "a", key: "key-a" },
  { id: "b", key: "key-b" },
]

/** A property, its stored value, and what of it is retained if it is omitted. */
interface Shape {
  readonly schema: Json
  readonly stored: unknown
  readonly retained?: unknown
}

const shapes = {
  secret: { schema: secret, stored: "s", retained: "s" },
  plain: { schema: object({ user: text }), stored: { user: "u" } },
  "an object that requires only its secret": { schema: bearer, stored: { token: "t" }, retained: { token: "t" } },
  "an object that requires more than its secret": { schema: basic, stored: { user: "u", password: "p" } },
  "an object that requires nothing": {
    schema: object({ user: text, password: secret }),
    stored: { user: "u", password: "p" },
    retained: { password: "p" },
  },
  "a variant of `oneOf` that requires more": {
    schema: { oneOf: [basic, bearer] },
    stored: { user: "u", password: "p" },
  },
  "a variant of `oneOf` that requires only its secret": {
    schema: { oneOf: [basic, bearer] },
    stored: { token: "t" },
    retained: { token: "t" },
  },
  "a variant of `anyOf` that requires more": {
    schema: { anyOf: [bearer, basic] },
    stored: { user: "u", password: "p" },
  },
  "a variant chosen by its type": {
    schema: {
      oneOf: [
        object({ type: { const: "basic" }, password: secret }, ["type", "password"]),
        object({ type: { const: "none" } }, ["type"]),
      ],
    },
    stored: { type: "basic", password: "p" },
  },
  "an optional object in an object": {
    schema: object({ key: secret, proxy: basic, tls: bearer }, ["key"]),
    stored: { key: "k", proxy: { user: "u", password: "p" }, tls: { token: "t" } },
    retained: { key: "k", tls: { token: "t" } },
  },
  "an object that requires another, which requires more": {
    schema: object({ key: secret, proxy: basic }, ["key", "proxy"]),
    stored: { key: "k", proxy: { user: "u", password: "p" } },
  },
  "an array of items with secrets": { schema: hooks, stored: twoHooks, retained: twoHooks },
  "an array in an object that requires more": {
    schema: object({ name: text, hooks }, ["name", "hooks"]),
    stored: { name: "n", hooks: twoHooks },
  },
  "objects under any name": {
    schema: { type: "object", additionalProperties: { oneOf: [basic, bearer] } },
    stored: { one: { user: "u", password: "p" }, two: { token: "t" } },
    retained: { two: { token: "t" } },
  },
} satisfies Record<string, Shape>

const shapeNames = Object.keys(shapes) as ReadonlyArray<keyof typeof shapes>
const shapeOf = (name: keyof typeof shapes): Shape => shapes[name]

/** A property of the settings, where it stands, and whether the PUT has it. */
const Slot = Schema.Struct({
  shape: Schema.Literals(shapeNames),
  place: Schema.Literals(["root", "group", "item"]),
  keyword: Schema.Literals(["plain", "$ref", "allOf", "if", "oneOf"]),
  isRequired: Schema.Boolean,
  sent: Schema.Literals(["omitted", "masked", "replaced"]),
})
type Slot = typeof Slot.Type

const wrapped = (keyword: Slot["keyword"], schema: Json, name: string): Json => {
  switch (keyword) {
    case "plain":
      return schema
    case "$ref":
      return { $ref: `#/$defs/${name}` }
    case "allOf":
      return { allOf: [schema, { description: "any" }] }
    case "if":
      return { if: { type: "null" }, else: schema }
    case "oneOf":
      return { oneOf: [{ type: "null" }, schema] }
  }
}

interface Named extends Slot {
  readonly name: string
}

/** Builds the settings of slots, with one value for each. */
const settingsOf = (slots: ReadonlyArray<Named>, valueOf: (slot: Named) => unknown): Json => {
  const at = (place: Slot["place"]): Json =>
    Object.fromEntries(
      slots
        .filter((slot) => slot.place === place)
        .map((slot) => [slot.name, valueOf(slot)])
        .filter(([, value]) => value !== undefined),
    )
  return { ...at("root"), group: at("group"), items: [{ id: "other" }, { id: "one", ...at("item") }] }
}

const schemaOf = (slots: ReadonlyArray<Named>): Json => {
  const at = (place: Slot["place"], more: Json = {}) => {
    const here = slots.filter((slot) => slot.place === place)
    return object(
      {
        ...more,
        ...Object.fromEntries(
          here.map(({ keyword, name, shape }) => [name, wrapped(keyword, shapeOf(shape).schema, name)]),
        ),
      },
      // The other item has none of them.
      place === "item" ? ["id"] : here.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    )
  }
  return {
    ...at("root", { group: at("group"), items: { type: "array", items: at("item", { id: text }) } }),
    $defs: Object.fromEntries(slots.map(({ name, shape }) => [name, shapeOf(shape).schema])),
  }
}

const named = (slots: ReadonlyArray<Slot>): ReadonlyArray<Named> =>
  slots.map((slot, index) => ({ ...slot, name: `p${index}` }))

const slots = Arbitrary.map(Arbitrary.schema(Schema.Array(Slot).check(Schema.isMaxLength(8))), named)

const fresh = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/"(s|p|t|k|key-a|key-b)"/g, `"new-$1"`))

const merged = (schema: Json, sent: Json, stored: Json) => {
  const { settings } = mergeAccepted({ at: settingsAt(schema), schema, sent, stored, location: "body.settings" })
  return { settings, invalid: settingsErrors(schema, settings, 20) }
}

// All tests get the same settings, so that each schema is compiled once.
const manyRuns = { arbitrary: { runs: 150, seed: randomUUID() } }

const put = (all: ReadonlyArray<Named>) => {
  const schema = schemaOf(all)
  const stored = settingsOf(all, ({ shape }) => shapeOf(shape).stored)
  assert.deepStrictEqual(settingsErrors(schema, stored, 20), [])
  const shown = redact(settingsAt(schema), stored)
  const shownOf = ({ name, place }: Named): unknown => {
    if (place === "root") return shown[name]
    const [, item] = shown["items"] as ReadonlyArray<Json>
    return place === "group" ? (shown["group"] as Json)[name] : item?.[name]
  }
  const sent = settingsOf(all, (slot) => {
    if (slot.sent === "omitted") return undefined
    return slot.sent === "masked" ? shownOf(slot) : fresh(shapeOf(slot.shape).stored)
  })
  const expected = settingsOf(all, (slot) => {
    const shape = shapeOf(slot.shape)
    if (slot.sent === "omitted") return shape.retained
    return slot.sent === "masked" ? shape.stored : fresh(shape.stored)
  })
  const isMissing = all.some(
    ({ isRequired, place, sent, shape }) =>
      isRequired && place !== "item" && sent === "omitted" && shapeOf(shape).retained === undefined,
  )
  return { schema, stored, sent, expected, isMissing, result: merged(schema, sent, stored) }
}

describe("settings whose PUT omits objects", () => {
  it.prop(
    "each omitted object keeps its secrets if it is valid with them, and else is omitted as a whole",
    { all: slots },
    ({ all }) => {
      const { expected, isMissing, result } = put(all)
      if (isMissing) assert.isNotEmpty(result.invalid)
      else {
        assert.deepStrictEqual(result.invalid, [])
        assert.deepStrictEqual(result.settings, expected)
      }
    },
    manyRuns,
  )

  it.prop(
    "what was sent is never dropped, and no secret comes from anywhere else",
    { all: slots },
    ({ all }) => {
      const { result, sent, stored } = put(all)
      const contains = (whole: unknown, part: unknown, kept: unknown): void => {
        if (part === MASK) assert.deepStrictEqual(whole, kept)
        else if (Array.isArray(part))
          part.forEach((item, index) =>
            contains((whole as Array<unknown>)[index], item, (kept as Array<unknown>)[index]),
          )
        else if (typeof part === "object" && part !== null) {
          for (const [key, value] of Object.entries(part))
            contains((whole as Json)[key], value, (kept as Json | undefined)?.[key])
        } else assert.deepStrictEqual(whole, part)
      }
      contains(result.settings, sent, stored)
      const textsOf = (value: unknown) => new Set(JSON.stringify(value).match(/"[^"]*"/g))
      const known = textsOf([sent, stored])
      for (const found of textsOf(result.settings)) assert.isTrue(known.has(found), found)
    },
    manyRuns,
  )

  it.prop(
    "the result is a fixed point: sending it back masked, or omitting the same again, changes nothing",
    { all: slots },
    ({ all }) => {
      const { isMissing, result, schema, sent } = put(all)
      if (isMissing) return
      const masked = merged(schema, redact(settingsAt(schema), result.settings), result.settings)
      assert.deepStrictEqual([masked.invalid, masked.settings], [[], result.settings])
      assert.deepStrictEqual(merged(schema, sent, result.settings).settings, result.settings)
    },
    manyRuns,
  )

  it.prop(
    "settings that are invalid for another reason are rejected, and the errors name it",
    { all: slots },
    ({ all }) => {
      const { schema, sent, stored } = put(all)
      const result = merged(schema, { ...sent, unknown: 1 }, stored)
      assert.isTrue(result.invalid.some(({ path }) => path.join() === "unknown"))
    },
    manyRuns,
  )

  const cases: ReadonlyArray<readonly [name: string, schema: Json, stored: Json, sent: Json, expected: Json | null]> = [
    [
      "of two variants side by side only the one that was sent remains",
      {
        type: "object",
        properties: { basic: { type: "object", properties: { password: secret } }, bearer },
        oneOf: [{ required: ["basic"] }, { required: ["bearer"] }],
      },
      { basic: { password: "p" } },
      { bearer: { token: "t" } },
      { bearer: { token: "t" } },
    ],
    [
      "an omitted object that another forbids is dropped, and those beside it stay",
      {
        type: "object",
        properties: { auth: bearer, tls: bearer, anonymous: { type: "boolean" } },
        if: { required: ["anonymous"] },
        // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
        then: { not: { required: ["auth"] } },
      },
      { auth: { token: "t" }, tls: { token: "u" } },
      { anonymous: true },
      { tls: { token: "u" }, anonymous: true },
    ],
    [
      "an error of a branch that does not apply drops nothing",
      {
        type: "object",
        oneOf: [
          { properties: { kind: { const: "a" }, one: basic, two: bearer } },
          { properties: { kind: { const: "b" }, two: basic } },
        ],
      },
      { kind: "a", one: { user: "u", password: "p" }, two: { token: "t" } },
      { kind: "a" },
      { kind: "a", two: { token: "t" } },
    ],
    [
      "a secret of the settings themselves is not dropped: a `null` clears it",
      { oneOf: [bearer, basic] },
      { token: "t" },
      { user: "u", password: "p" },
      null,
    ],
    [
      "an object that was sent is not dropped",
      object({ auth: { oneOf: [basic, bearer] } }),
      { auth: { user: "u", password: "p" } },
      { auth: {} },
      null,
    ],
    [
      "a required object that requires more must be sent",
      object({ auth: basic }, ["auth"]),
      { auth: { user: "u", password: "p" } },
      {},
      null,
    ],
    [
      "an item keeps its own objects only",
      object({ hooks: { type: "array", items: object({ id: text, auth: basic, tls: bearer }, ["id"]) } }),
      {
        hooks: [
          { id: "a", auth: { user: "u", password: "p" }, tls: { token: "t" } },
          { id: "b", tls: { token: "x" } },
        ],
      },
      { hooks: [{ id: "b" }, { id: "a" }, { id: "c" }] },
      { hooks: [{ id: "b", tls: { token: "x" } }, { id: "a", tls: { token: "t" } }, { id: "c" }] },
    ],
    [
      "two secrets that another variant does not have are cleared together, though each may be `null`",
      {
        ...object({
          auth: { oneOf: [object({ user: text, one: { $ref: "#/$defs/x~1y" }, two: nullable }, ["user"]), bearer] },
        }),
        $defs: { "x/y": nullable },
      },
      { auth: { user: "u", one: "s", two: "t" } },
      { auth: { token: "new", one: null, two: null } },
      { auth: { token: "new" } },
    ],
    [
      "a secret that may be `null` is `null`, and one beside it that may not is removed",
      object({ auth: object({ one: nullable, two: secret }) }),
      { auth: { one: "s", two: "t" } },
      { auth: { one: null, two: null } },
      { auth: { one: null } },
    ],
    [
      "each item drops what it forbids, and the settings what they forbid in a group",
      {
        type: "object",
        properties: {
          group: object({ auth: bearer, tls: bearer }),
          hooks: {
            type: "array",
            items: {
              type: "object",
              properties: { id: text, open: { type: "boolean" }, auth: bearer, tls: bearer },
              if: { properties: { open: { const: true } }, required: ["open"] },
              // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
              then: { not: { required: ["auth"] } },
            },
          },
        },
        not: { properties: { group: { required: ["tls"] } }, required: ["plain"] },
      },
      {
        group: { auth: { token: "t" }, tls: { token: "u" } },
        hooks: [
          { id: "a", auth: { token: "t" }, tls: { token: "u" } },
          { id: "b", auth: { token: "t" }, tls: { token: "u" } },
        ],
      },
      {
        plain: true,
        group: {},
        hooks: [
          { id: "a", open: true },
          { id: "b", open: true },
        ],
      },
      {
        plain: true,
        group: { auth: { token: "t" } },
        hooks: [
          { id: "a", open: true, tls: { token: "u" } },
          { id: "b", open: true, tls: { token: "u" } },
        ],
      },
    ],
    [
      "a name with a separator of paths",
      object({ "a.b/c~d": basic, ok: bearer }),
      { "a.b/c~d": { user: "u", password: "p" }, ok: { token: "t" } },
      {},
      { ok: { token: "t" } },
    ],
  ]
  it.each(cases)("%s", (_, schema, stored, sent, expected) => {
    assert.deepStrictEqual(settingsErrors(schema, stored, 20), [])
    const result = merged(schema, sent, stored)
    if (expected === null) assert.isNotEmpty(result.invalid)
    else assert.deepStrictEqual([result.invalid, result.settings], [[], expected])
  })

  it("of thousands of objects, those that there may be too many of take few validations too", () => {
    const schema = { type: "object", additionalProperties: bearer, maxProperties: 1500 }
    const stored = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`n${index}`, { token: "t" }]))
    const took = cpuMillis(() => {
      const { invalid, settings } = merged(schema, {}, stored)
      assert.deepStrictEqual(invalid, [])
      assert.deepStrictEqual(Object.keys(settings), Object.keys(stored).slice(0, 1500))
    })
    assert.isBelow(took, 2000)
  })

  it("three thousand omitted objects take few validations", () => {
    const names = Array.from({ length: 3000 }, (_, index) => `n${index}`)
    const schema = { type: "object", additionalProperties: { oneOf: [basic, bearer] } }
    const stored = Object.fromEntries(
      names.map((name, index) => [name, index % 2 === 0 ? { user: "u", password: "p" } : { token: "t" }]),
    )
    const took = cpuMillis(() => {
      const { invalid, settings } = merged(schema, {}, stored)
      assert.deepStrictEqual(invalid, [])
      assert.strictEqual(Object.keys(settings).length, 1500)
    })
    assert.isBelow(took, 2000)
  })
})
