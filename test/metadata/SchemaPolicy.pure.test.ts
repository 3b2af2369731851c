import { assert, describe, it } from "@effect/vitest"
import { cpuMillis } from "../support/cpuTime.ts"
import { LIMITS, schemaErrors } from "../../src/domains/metadata/jsonschema/SchemaPolicy.ts"
import type { Keywords } from "../../src/domains/metadata/jsonschema/Subschemas.ts"
import { validate } from "../../src/domains/metadata/jsonschema/Validator.ts"

const nested = (levels: number): Keywords => (levels === 0 ? {} : { not: nested(levels - 1) })

const many = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => make(index))

const named = <A>(count: number, make: (index: number) => A): Readonly<Record<string, A>> =>
  Object.fromEntries(many(count, (index) => [`d${index}`, make(index)]))

/** `levels` definitions, each of which references the next one twice. */
const bomb = (levels: number): Keywords => ({
  $ref: "#/$defs/d0",
  $defs: {
    ...named(levels, (index) => ({ allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] })),
    [`d${levels}`]: {},
  },
})

const text = (json: string) => JSON.parse(json) as Keywords

/** Rejected schemas, and the pointer of the error. */
const rejections: ReadonlyArray<readonly [rule: string, schema: Keywords, pointer: string]> = [
  ["a size of more than 64 KiB", { title: "x".repeat(64 * 1024) }, ""],
  ["a depth of more than 32 levels", nested(32), "/not".repeat(32)],
  ["a depth of 100,000 levels", text(`{"not":`.repeat(100_000) + "{}" + "}".repeat(100_000)), "/not".repeat(32)],
  ["more than 2,000 values", { enum: many(2001, (index) => index) }, ""],
  ["the property name __proto__", text(`{"properties":{"__proto__":{}}}`), "/properties/__proto__"],
  ["__proto__ in data", text(`{"const":{"a":{"__proto__":1}}}`), "/const/a/__proto__"],
  ["NUL", { title: "a\u0000" }, "/title"],
  ["a lone surrogate in a name", { properties: { "\ud800": {} } }, "/properties"],
  ["a number that is out of range", text(`{"maximum":1e999}`), "/maximum"],
  ["the dialect draft-07", { $schema: "http://json-schema.org/draft-07/schema#" }, "/$schema"],
  ["the dialect draft 2019-09", { $schema: "https://json-schema.org/draft/2019-09/schema" }, "/$schema"],
  ["a custom meta-schema", { $schema: "https://example.com/meta" }, "/$schema"],
  ["a $schema that is not a string", { $schema: 7 }, "/$schema"],
  ["an unknown type", { properties: { a: { type: "text" } } }, "/properties/a/type"],
  ["a keyword argument of the wrong type", { maxLength: "3" }, "/maxLength"],
  ["a negative length", { minItems: -1 }, "/minItems"],
  ["a duplicate in required", { required: ["a", "a"] }, "/required"],
  ["multipleOf 0", { multipleOf: 0 }, "/multipleOf"],
  ["items as a list", { items: [{}] }, "/items"],
  ["an anchor with a space", { $anchor: "a b" }, "/$anchor"],
  ["an $id with a fragment", { $id: "https://example.com/a#b" }, "/$id"],
  ["an empty allOf", { allOf: [] }, "/allOf"],
  ["a limit that is read from the value", { maximum: { $data: "1/limit" } }, "/maximum"],
  ["$data", { properties: { a: { $data: "1/b" } } }, "/properties/a/$data"],
  ["$async", { $async: true }, "/$async"],
  ["a nested $async", { items: { anyOf: [{ $async: true }] } }, "/items/anyOf/0/$async"],
  ["$async in a definition", { $defs: { a: { $async: false } } }, "/$defs/a/$async"],
  ["$vocabulary", { $vocabulary: { "https://example.com/v": true } }, "/$vocabulary"],
  ["a nested $id", { $defs: { a: { $id: "https://example.com/a" } } }, "/$defs/a/$id"],
  ["a nested $schema", { items: { $schema: "https://json-schema.org/draft/2020-12/schema" } }, "/items/$schema"],
  ["a remote $ref", { $ref: "https://example.com/a" }, "/$ref"],
  ["a relative $ref", { properties: { a: { $ref: "a.json" } } }, "/properties/a/$ref"],
  ["a $ref to a file", { $ref: "file:///etc/passwd" }, "/$ref"],
  ["a $ref to its own $id", { $id: "https://example.com/a", items: { $ref: "https://example.com/a" } }, "/items/$ref"],
  ["a $ref to the meta-schema", { $ref: "https://json-schema.org/draft/2020-12/schema" }, "/$ref"],
  ["a $ref that does not resolve", { $ref: "#/$defs/a" }, "/$ref"],
  ["a $ref to a keyword that is not a schema", { $ref: "#/properties", properties: {} }, "/$ref"],
  ["a $ref into data", { $ref: "#/const", const: {} }, "/$ref"],
  ["a $ref to an unknown anchor", { $ref: "#a" }, "/$ref"],
  ["a $ref with invalid percent-encoding", { $ref: "#/$defs/%zz" }, "/$ref"],
  ["a remote $dynamicRef", { $dynamicRef: "https://example.com/a#b" }, "/$dynamicRef"],
  ["a $dynamicRef that does not resolve", { $dynamicRef: "#b" }, "/$dynamicRef"],
  ["a duplicate anchor", { $anchor: "a", items: { $dynamicAnchor: "a" } }, "/$anchor"],
  ["an empty enum", { enum: [] }, "/enum"],
  ["an invalid pattern", { pattern: "(" }, "/pattern"],
  ["a pattern in another dialect", { pattern: "(?i)a" }, "/pattern"],
  ["look-ahead", { pattern: "^(?=a)" }, "/pattern"],
  ["look-behind", { pattern: "(?<!a)b" }, "/pattern"],
  ["a back-reference", { pattern: "(a)\\1" }, "/pattern"],
  ["a pattern that is too long", { pattern: "a".repeat(513) }, "/pattern"],
  ["a repetition of more than 1,000", { pattern: "a{1001}" }, "/pattern"],
  ["nested counted repetitions", { pattern: "((a{30}){30}){30}" }, "/pattern"],
  ["a repeated unbounded repetition", { pattern: "^(a+)+$" }, "/pattern"],
  ["a repeated unbounded repetition with optional parts", { pattern: "^(?:\\w+\\s?)*$" }, "/pattern"],
  [
    "a repeated unbounded repetition in an alternative of a property name pattern",
    { patternProperties: { "(b|(a*)?){2,}": {} } },
    "/patternProperties/(b|(a*)?){2,}",
  ],
  ["an invalid pattern in patternProperties", { patternProperties: { "[": {} } }, "/patternProperties/["],
  ["patterns that are too large in total", { allOf: many(4, () => ({ pattern: "a{900}" })) }, "/allOf/2/pattern"],
  ["a reference to itself", { $ref: "#" }, "/$ref"],
  ["a reference to itself in allOf", { allOf: [{ $ref: "#" }] }, "/allOf/0/$ref"],
  ["a reference to itself in else", { if: {}, else: { $ref: "#" } }, "/else/$ref"],
  [
    "a reference to itself in dependentSchemas",
    { dependentSchemas: { a: { $dynamicRef: "#" } } },
    "/dependentSchemas/a/$dynamicRef",
  ],
  [
    "definitions that reference each other",
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    "/$defs/b/$ref",
  ],
  [
    "an unused definition that references itself",
    { $defs: { a: { not: { $ref: "#/$defs/a" } } } },
    "/$defs/a/not/$ref",
  ],
  ["a schema bomb", bomb(30), "/$defs/d18"],
  [
    "a chain of 250 references",
    { $defs: { ...named(250, (i) => ({ $ref: `#/$defs/d${i + 1}` })), d250: {} } },
    "/$defs/d50",
  ],
]

const acceptances: ReadonlyArray<readonly [what: string, schema: Keywords]> = [
  ["no keywords", {}],
  ["the supported $schema", { $schema: "https://json-schema.org/draft/2020-12/schema" }],
  ["the supported $schema with an empty fragment", { $schema: "https://json-schema.org/draft/2020-12/schema#" }],
  ["an $id at the top", { $id: "https://example.com/a", $defs: { b: {} }, $ref: "#/$defs/b" }],
  ["recursion into the value", { items: { $ref: "#" }, additionalProperties: { $dynamicRef: "#" } }],
  ["properties named $async, $id and $data", { properties: { $async: {}, $id: { type: "string" }, $data: {} } }],
  ["keywords as data", { const: { $ref: "x", $async: true }, enum: [{ $id: "y" }], default: { pattern: "(" } }],
  ["unknown keywords and formats", { "x-order": 1, format: "whatever" }],
  [
    "nested repetitions that are separated by other characters",
    {
      allOf: ["^[a-z0-9]+(-[a-z0-9]+)*$", "^(a+b+)+$", "^(\\d{3}){2,}$", "^([(+]a+?,)*$", "(a+){3}", "(a|b)+"].map(
        (pattern) => ({ pattern }),
      ),
    },
  ],
  ["a depth of 31 levels", nested(31)],
  ["references that share their targets", bomb(10)],
]

describe("a schema is rejected", () => {
  for (const [rule, schema, pointer] of rejections) {
    it(`for ${rule}`, () => {
      const [error] = schemaErrors(schema)
      assert.strictEqual(error?.pointer, pointer, error?.message)
    })
  }
})

describe("a schema is accepted", () => {
  for (const [what, schema] of acceptances) {
    it(`with ${what}`, () => assert.deepStrictEqual(schemaErrors(schema), []))
  }
})

const ones = (count: number) => many(count, () => 1)
const letters = "a".repeat(16_000)
const properties = Object.fromEntries(many(64, (index) => [`key${"x".repeat(200)}${index}`, index]))

/** The most expensive schemas that are accepted, each with the most expensive value. */
const worst: ReadonlyArray<readonly [what: string, schema: Keywords, value: unknown]> = [
  ["alternatives for each item", { items: { oneOf: many(650, (index) => ({ const: index + 2 })) } }, ones(8000)],
  ["negations for each item", { items: { allOf: many(480, (index) => ({ not: { const: index + 2 } })) } }, ones(8000)],
  ["a large enum", { items: { not: { enum: many(1900, () => ({})) } } }, many(5000, () => [])],
  ["repeated uniqueItems", { allOf: many(900, () => ({ uniqueItems: true })) }, many(4000, (index) => [index])],
  ["a large constant", { items: { not: { const: letters.repeat(4) } } }, ones(8000)],
  ["large values", { allOf: many(900, () => ({ const: 1 })) }, properties],
  ["long texts", { allOf: many(900, () => ({ maxLength: 1 })) }, letters],
  ["exact arithmetic", { items: { allOf: many(900, () => ({ multipleOf: 1e-300 })) } }, many(2000, () => 1e300)],
  [
    "regular expressions with catastrophic backtracking",
    { allOf: [{ pattern: "^(a|aa)+$" }, { pattern: "^(a|a)*$" }] },
    `${letters}!`,
  ],
  ["a large regular expression", { pattern: "(\\p{L}|a){190}!$" }, letters],
  ["many large regular expressions", { allOf: many(6, (index) => ({ pattern: `\\p{L}{${200 + index}}!$` })) }, letters],
  [
    "regular expressions for property names",
    { allOf: many(250, () => ({ patternProperties: { "^(k|e)+$": false } })) },
    properties,
  ],
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
  ["recursion that is valid", { allOf: many(200, () => ({ items: { $ref: "#" } })) }, [[[[1]]]]],
  ["unevaluated items", { allOf: many(600, () => ({ contains: true })), unevaluatedItems: false }, ones(8000)],
  [
    "unevaluated properties",
    {
      anyOf: many(300, (index) => ({ properties: { [`key${index}`]: true }, unevaluatedProperties: false })),
      unevaluatedProperties: false,
    },
    properties,
  ],
  ["many required properties", { allOf: many(60, () => ({ required: many(30, (index) => `k${index}`) })) }, properties],
]

const cheapest = (times: number, work: () => void) => Math.min(...many(times, () => cpuMillis(work)))

describe("the cost of an accepted schema is bounded", () => {
  for (const [what, schema, value] of worst) {
    it(`${what}: accepting the schema and checking a value each take less than half a second of processor time`, () => {
      assert.deepStrictEqual(schemaErrors(schema), [])
      assert.isBelow(
        cheapest(2, () => schemaErrors(schema)),
        500,
      )
      assert.isBelow(
        cheapest(2, () => validate(schema, value)),
        500,
      )
    })
  }

  it("a schema bomb of the maximum size is rejected in less than half a second", () => {
    const schema = bomb(LIMITS.nodes / 8)
    assert.strictEqual(schemaErrors(schema).length, 1)
    assert.isBelow(
      cpuMillis(() => schemaErrors(schema)),
      500,
    )
  })
})
