import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { canonicalJson } from "../../src/kernel/values/CanonicalJson.ts"

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, each]) => [name, shuffled(each)]),
  )
}

describe("the canonical text of JSON", () => {
  const groups: ReadonlyArray<ReadonlyArray<string>> = [
    ['{"a":1,"b":{"c":2,"d":[1,2]}}', '{ "b" : {"d":[1,2],"c":2},\n\t"a":1 }', '{"\\u0061":1,"b":{"c":2,"d":[1.0,2]}}'],
    ["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "100E-2", "1.000"],
    ["100", "1e2", "1E2", "100.0", "1e+02"],
    ["0", "-0", "0.0", "-0.00", "0e7", "0E-99999999999999999999"],
    ["-1.5", "-15e-1", "-1.50"],
    ["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
    ["9007199254740992", "9007199254740992e0"],
    ["1e400", "10e399"],
    ["1e401"],
    ["0.1"],
    ["0.1000000000000000055511151231257827"],
    ['"1"'],
    ['"1e0"'],
    ["[1,2]", "[ 1 , 2 ]", "[1.0,2e0]"],
    ["[2,1]"],
    ["[[1],2]"],
    ['"A/é😀"', '"\\u0041\\/\\u00e9\\ud83d\\ude00"'],
    ['"e\\u0301"'],
    ['"\\ud800"'],
    ['{"a":2}', '{"a":1,"a":2}'],
    ['{"a":[]}'],
    ['{"a":[""]}'],
    ['{"a":{}}'],
    ['{"a":null}'],
    ['{"a":"null"}'],
    ["{}"],
    [""],
    ["[]"],
    ["true"],
    ['{"__proto__":1,"b":2}', '{"b":2,"__proto__":1}'],
    ['{"2":0,"10":0,"a":0}', '{"a":0,"10":0,"2":0}'],
    ['{"a":"1,b:2"}'],
    ['{"a\\":1,\\"b":2}'],
    ['{"a":1,"b":2}'],
    ["not json"],
    ["not  json"],
  ]

  it("is the same for the same value, and another for another value", () => {
    const texts = groups.map((group) => [...new Set(group.map(canonicalJson))])
    for (const [index, distinct] of texts.entries()) assert.lengthOf(distinct, 1, groups[index]?.join(" | "))
    assert.lengthOf(new Set(texts.flat()), groups.length)
  })

  it("keeps a name that begins with an escape, whatever was read before", () => {
    for (const before of ['{"a":{},"\\\\":1}', '{"a":1,"\\\\":1}']) {
      canonicalJson(before)
      JSON.parse(before)
    }
    for (const [text, expected] of [
      ['{"a":{},"\\t":0}', '{"\\t":0,"a":{}}'],
      ['{"a":1,"\\u0000":0}', '{"\\u0000":0,"a":1}'],
      ['{"a":1, "\\"" : ":"}', '{"\\"":":","a":1}'],
      ['{"a":1e400,"\\n":0}', '{"\\n":0,"a":1e400}'],
      ['{"\\\\":"\\n","a":[{"a":1,"\\n":"x\\":"}]}', '{"\\\\":"\\n","a":[{"\\n":"x\\":","a":1}]}'],
    ] as const) {
      assert.strictEqual(canonicalJson(text), expected)
    }
  })

  it("of a text that is too deep is the text", () => {
    const deep = "[".repeat(200_000) + "]".repeat(200_000)
    assert.strictEqual(canonicalJson(deep), deep)
  })

  it("of a number with a million digits takes milliseconds", () => {
    const zeros = "0".repeat(1_000_000)
    assert.strictEqual(canonicalJson(`1${zeros}1`), `1${zeros}1e0`)
    assert.strictEqual(canonicalJson(`0.${zeros}10${zeros}`), "1e-1000001")
    assert.strictEqual(canonicalJson(`1e${zeros}1`), `1e${zeros}1`)
  })

  it.prop("does not depend on the order of members or on spacing", [Schema.Json], ([value]) => {
    const text = JSON.stringify(value)
    return (
      canonicalJson(JSON.stringify(shuffled(value), null, 2)) === canonicalJson(text) &&
      canonicalJson(canonicalJson(text)) === canonicalJson(text)
    )
  })
})
