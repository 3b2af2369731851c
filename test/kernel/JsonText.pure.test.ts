import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parseJsonText } from "../../src/kernel/values/JsonText.ts"

const BEFORE = ['{"a":1,"\\\\":1}', '{"a":1,"\\\\u00fcbersch":1}', '{"a":{},"\\\\":1}']

/** Without `JSON.parse`, which may misread them. */
const asJson = (names: ReadonlyArray<string>): string =>
  `{${names.map((name, index) => `${JSON.stringify(name)}:${index}`).join(",")}}`

describe("the text of JSON", () => {
  it("is read with its names, whatever was read before", () => {
    for (const before of BEFORE) parseJsonText(before)
    for (const [text, name] of [
      ['{"a":1,"\\t":1}', "\t"],
      ['{"a":1,"\\u00fcberschrift":1}', "\u00fcberschrift"],
      ['{"a":1,"\\"":1}', '"'],
      ['{"a":1, \n"\\u0000":1}', "\0"],
      ['{"a":{},"\\n":[{"\\t":",\\"\\n\\":"}]}', "\n"],
    ] as const) {
      const value = parseJsonText(text)
      assert.deepStrictEqual(Object.keys(Object(value)), ["a", name])
      assert.strictEqual(
        JSON.stringify(value),
        JSON.stringify({ a: Reflect.get(Object(value), "a"), [name]: Reflect.get(Object(value), name) }),
      )
    }
    assert.deepStrictEqual(parseJsonText('{"a":{},"\\n":[{"\\t":",\\"\\n\\":"}]}'), {
      a: {},
      "\n": [{ "\t": ',"\n":' }],
    })
  })

  it.prop("has any names", [Schema.Array(Schema.String).check(Schema.isMaxLength(5))], ([names]) => {
    const distinct = [...new Set(names)]
    assert.sameMembers(Object.keys(Object(parseJsonText(asJson(distinct)))), distinct)
  })

  it("has properties named `__proto__` and those of which the last counts, as for `JSON.parse`", () => {
    const value = parseJsonText('{"__proto__":1,"\\u0061":1,"a":2,"10":0,"2":0}')
    assert.deepStrictEqual(Object.entries(Object(value)), [
      ["2", 0],
      ["10", 0],
      ["__proto__", 1],
      ["a", 2],
    ])
  })

  it("may be as deep as memory allows", () => {
    const depth = 100_000
    assert.isArray(parseJsonText(`[{"\\n":0},${"[".repeat(depth)}${"]".repeat(depth)}]`))
  })

  it("that is not JSON is refused, also if it has many escapes", () => {
    for (const text of ['{"\\n":}', `{"${'\\"'.repeat(100_000)}`, "", '{"\\q":1}']) {
      assert.throws(() => parseJsonText(text), SyntaxError)
    }
  })
})
