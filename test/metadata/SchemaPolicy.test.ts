import { assert, describe, it } from "@effect/vitest"
import { cpuMillis } from "../support/cpuTime.ts"
import { LIMITS, schemaFaults } from "../../src/domains/metadata/jsonschema/SchemaPolicy.ts"
import type { Keywords } from "../../src/domains/metadata/jsonschema/Subschemas.ts"
import { validate } from "../../src/domains/metadata/jsonschema/Validator.ts"

const nested = (levels: number): Keywords => (levels === 0 ? {} : { not: nested(levels - 1) })

const many = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => make(index))

const named = <A>(count: number, make: (index: number) => A): Readonly<Record<string, A>> =>
  Object.fromEntries(many(count, (index) => [`d${index}`, make(index)]))

/** `levels` definitions, each of which asks the next one twice. */
const bomb = (levels: number): Keywords => ({
  $ref: "#/$defs/d0",
  $defs: {
    ...named(levels, (index) => ({ allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] })),
    [`d${levels}`]: {},
  },
})

const text = (json: string) => JSON.parse(json) as Keywords

/** What is refused, and where. */
const refusals: ReadonlyArray<readonly [rule: string, schema: Keywords, pointer: string]> = [
  ["more than 64 KiB", { title: "x".repeat(64 * 1024) }, ""],
  ["more than 32 levels", nested(32), "/not".repeat(32)],
  ["100,000 levels", text(`{"not":`.repeat(100_000) + "{}" + "}".repeat(100_000)), "/not".repeat(32)],
  ["more than 2,000 values", { enum: many(2001, (index) => index) }, ""],
  ["__proto__", text(`{"properties":{"__proto__":{}}}`), "/properties/__proto__"],
  ["__proto__ in data", text(`{"const":{"a":{"__proto__":1}}}`), "/const/a/__proto__"],
  ["NUL", { title: "a\u0000" }, "/title"],
  ["a lone surrogate in a name", { properties: { "\ud800": {} } }, "/properties"],
  ["a number out of range", text(`{"maximum":1e999}`), "/maximum"],
  ["draft 07", { $schema: "http://json-schema.org/draft-07/schema#" }, "/$schema"],
  ["draft 2019-09", { $schema: "https://json-schema.org/draft/2019-09/schema" }, "/$schema"],
  ["a meta-schema of one's own", { $schema: "https://example.com/meta" }, "/$schema"],
  ["$schema that is no text", { $schema: 7 }, "/$schema"],
  ["an unknown type", { properties: { a: { type: "text" } } }, "/properties/a/type"],
  ["a keyword of the wrong type", { maxLength: "3" }, "/maxLength"],
  ["a negative length", { minItems: -1 }, "/minItems"],
  ["required twice the same", { required: ["a", "a"] }, "/required"],
  ["multipleOf 0", { multipleOf: 0 }, "/multipleOf"],
  ["items as a list", { items: [{}] }, "/items"],
  ["an anchor with a space", { $anchor: "a b" }, "/$anchor"],
  ["$id with a fragment", { $id: "https://example.com/a#b" }, "/$id"],
  ["nothing in allOf", { allOf: [] }, "/allOf"],
  ["a limit taken from the value", { maximum: { $data: "1/limit" } }, "/maximum"],
  ["$data", { properties: { a: { $data: "1/b" } } }, "/properties/a/$data"],
  ["$async", { $async: true }, "/$async"],
  ["$async deep inside", { items: { anyOf: [{ $async: true }] } }, "/items/anyOf/0/$async"],
  ["$async in a definition", { $defs: { a: { $async: false } } }, "/$defs/a/$async"],
  ["$vocabulary", { $vocabulary: { "https://example.com/v": true } }, "/$vocabulary"],
  ["$id inside", { $defs: { a: { $id: "https://example.com/a" } } }, "/$defs/a/$id"],
  ["$schema inside", { items: { $schema: "https://json-schema.org/draft/2020-12/schema" } }, "/items/$schema"],
  ["a remote $ref", { $ref: "https://example.com/a" }, "/$ref"],
  ["a relative $ref", { properties: { a: { $ref: "a.json" } } }, "/properties/a/$ref"],
  ["a file", { $ref: "file:///etc/passwd" }, "/$ref"],
  ["its own address", { $id: "https://example.com/a", items: { $ref: "https://example.com/a" } }, "/items/$ref"],
  ["the meta-schema", { $ref: "https://json-schema.org/draft/2020-12/schema" }, "/$ref"],
  ["a $ref to nothing", { $ref: "#/$defs/a" }, "/$ref"],
  ["a $ref to no schema", { $ref: "#/properties", properties: {} }, "/$ref"],
  ["a $ref into data", { $ref: "#/const", const: {} }, "/$ref"],
  ["an anchor that is not there", { $ref: "#a" }, "/$ref"],
  ["a broken percent code", { $ref: "#/$defs/%zz" }, "/$ref"],
  ["a remote $dynamicRef", { $dynamicRef: "https://example.com/a#b" }, "/$dynamicRef"],
  ["a $dynamicRef to nothing", { $dynamicRef: "#b" }, "/$dynamicRef"],
  ["one anchor twice", { $anchor: "a", items: { $dynamicAnchor: "a" } }, "/$anchor"],
  ["no value in enum", { enum: [] }, "/enum"],
  ["a pattern that is none", { pattern: "(" }, "/pattern"],
  ["a pattern of another dialect", { pattern: "(?i)a" }, "/pattern"],
  ["look-ahead", { pattern: "^(?=a)" }, "/pattern"],
  ["look-behind", { pattern: "(?<!a)b" }, "/pattern"],
  ["a back-reference", { pattern: "(a)\\1" }, "/pattern"],
  ["a long pattern", { pattern: "a".repeat(513) }, "/pattern"],
  ["a repetition of more than 1,000", { pattern: "a{1001}" }, "/pattern"],
  ["nested repetitions", { pattern: "((a{30}){30}){30}" }, "/pattern"],
  ["an endless repetition, repeated", { pattern: "^(a+)+$" }, "/pattern"],
  ["the same with parts that may be missing", { pattern: "^(?:\\w+\\s?)*$" }, "/pattern"],
  [
    "the same among alternatives, in names",
    { patternProperties: { "(b|(a*)?){2,}": {} } },
    "/patternProperties/(b|(a*)?){2,}",
  ],
  ["a bad pattern of properties", { patternProperties: { "[": {} } }, "/patternProperties/["],
  ["many large patterns", { allOf: many(4, () => ({ pattern: "a{900}" })) }, "/allOf/2/pattern"],
  ["itself", { $ref: "#" }, "/$ref"],
  ["itself in allOf", { allOf: [{ $ref: "#" }] }, "/allOf/0/$ref"],
  ["itself in a condition", { if: {}, else: { $ref: "#" } }, "/else/$ref"],
  ["itself by a dependent", { dependentSchemas: { a: { $dynamicRef: "#" } } }, "/dependentSchemas/a/$dynamicRef"],
  [
    "one another",
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    "/$defs/b/$ref",
  ],
  ["a circle that nothing uses", { $defs: { a: { not: { $ref: "#/$defs/a" } } } }, "/$defs/a/not/$ref"],
  ["a bomb", bomb(30), "/$defs/d18"],
  ["a chain", { $defs: { ...named(250, (i) => ({ $ref: `#/$defs/d${i + 1}` })), d250: {} } }, "/$defs/d50"],
]

const acceptances: ReadonlyArray<readonly [what: string, schema: Keywords]> = [
  ["nothing at all", {}],
  ["its dialect", { $schema: "https://json-schema.org/draft/2020-12/schema" }],
  ["its dialect with an empty fragment", { $schema: "https://json-schema.org/draft/2020-12/schema#" }],
  ["an $id at the top", { $id: "https://example.com/a", $defs: { b: {} }, $ref: "#/$defs/b" }],
  ["recursion into the value", { items: { $ref: "#" }, additionalProperties: { $dynamicRef: "#" } }],
  ["a key called $async, $id or $data", { properties: { $async: {}, $id: { type: "string" }, $data: {} } }],
  ["keywords as data", { const: { $ref: "x", $async: true }, enum: [{ $id: "y" }], default: { pattern: "(" } }],
  ["unknown keywords and formats", { "x-order": 1, format: "whatever" }],
  [
    "repetitions that something keeps apart",
    {
      allOf: ["^[a-z0-9]+(-[a-z0-9]+)*$", "^(a+b+)+$", "^(\\d{3}){2,}$", "^([(+]a+?,)*$", "(a+){3}", "(a|b)+"].map(
        (pattern) => ({ pattern }),
      ),
    },
  ],
  ["31 levels", nested(31)],
  ["references that meet again", bomb(10)],
]

describe("a schema is refused", () => {
  for (const [rule, schema, pointer] of refusals) {
    it(`for ${rule}`, () => {
      const [fault] = schemaFaults(schema)
      assert.strictEqual(fault?.pointer, pointer, fault?.message)
    })
  }
})

describe("a schema is accepted", () => {
  for (const [what, schema] of acceptances) {
    it(`with ${what}`, () => assert.deepStrictEqual(schemaFaults(schema), []))
  }
})

const ones = (count: number) => many(count, () => 1)
const letters = "a".repeat(16_000)
const members = Object.fromEntries(many(64, (index) => [`key${"x".repeat(200)}${index}`, index]))

/** The worst that is accepted: what it costs to accept it, and to check the worst value. */
const worst: ReadonlyArray<readonly [what: string, schema: Keywords, value: unknown]> = [
  ["alternatives for each item", { items: { oneOf: many(650, (index) => ({ const: index + 2 })) } }, ones(8000)],
  ["denials for each item", { items: { allOf: many(480, (index) => ({ not: { const: index + 2 } })) } }, ones(8000)],
  ["a large enum", { items: { not: { enum: many(1900, () => ({})) } } }, many(5000, () => [])],
  [
    "unique items, again and again",
    { allOf: many(900, () => ({ uniqueItems: true })) },
    many(4000, (index) => [index]),
  ],
  ["a large constant", { items: { not: { const: letters.repeat(4) } } }, ones(8000)],
  ["large values", { allOf: many(900, () => ({ const: 1 })) }, members],
  ["long texts", { allOf: many(900, () => ({ maxLength: 1 })) }, letters],
  ["exact arithmetic", { items: { allOf: many(900, () => ({ multipleOf: 1e-300 })) } }, many(2000, () => 1e300)],
  ["expressions that would explode", { allOf: [{ pattern: "^(a|aa)+$" }, { pattern: "^(a|a)*$" }] }, `${letters}!`],
  ["a large expression", { pattern: "(\\p{L}|a){190}!$" }, letters],
  ["large expressions", { allOf: many(6, (index) => ({ pattern: `\\p{L}{${200 + index}}!$` })) }, letters],
  ["expressions for names", { allOf: many(250, () => ({ patternProperties: { "^(k|e)+$": false } })) }, members],
  ["doubled paths", bomb(11), 1],
  [
    "doubled paths for each item",
    {
      ...bomb(11),
      $ref: "#/$defs/i",
      $defs: { ...(bomb(11)["$defs"] as object), i: { items: { $ref: "#/$defs/d0" } } },
    },
    ones(8000),
  ],
  [
    "recursion at each level",
    { anyOf: many(150, () => ({ additionalProperties: { $ref: "#" }, minProperties: 9 })) },
    { a: { a: { a: {} } } },
  ],
  ["recursion that holds", { allOf: many(200, () => ({ items: { $ref: "#" } })) }, [[[[1]]]]],
  ["unevaluated items", { allOf: many(600, () => ({ contains: true })), unevaluatedItems: false }, ones(8000)],
  [
    "unevaluated members",
    {
      anyOf: many(300, (index) => ({ properties: { [`key${index}`]: true }, unevaluatedProperties: false })),
      unevaluatedProperties: false,
    },
    members,
  ],
  ["many members", { allOf: many(60, () => ({ required: many(30, (index) => `k${index}`) })) }, members],
]

const cheapest = (times: number, work: () => void) => Math.min(...many(times, () => cpuMillis(work)))

describe("the worst that is accepted is bounded", () => {
  for (const [what, schema, value] of worst) {
    it(`${what}: accepted and checked with less than half a second of processor time each`, () => {
      assert.deepStrictEqual(schemaFaults(schema), [])
      assert.isBelow(
        cheapest(2, () => schemaFaults(schema)),
        500,
      )
      assert.isBelow(
        cheapest(2, () => validate(schema, value)),
        500,
      )
    })
  }

  it("a bomb of the largest size that fits is refused at once", () => {
    const schema = bomb(LIMITS.nodes / 8)
    assert.strictEqual(schemaFaults(schema).length, 1)
    assert.isBelow(
      cpuMillis(() => schemaFaults(schema)),
      500,
    )
  })
})
