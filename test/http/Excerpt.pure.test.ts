import { assert, describe, it } from "@effect/vitest"
import { Predicate, Schema } from "effect"
import { excerptOfBeginning, makeValueCounter, wholeExcerpt } from "../../src/http/body/Excerpt.ts"
import { isShort } from "../../src/kernel/contract/DecodingErrors.ts"

type Path = ReadonlyArray<string>

/** All paths of a value, with what is there. */
const pathsOf = (value: unknown, path: Path = []): ReadonlyArray<readonly [Path, unknown]> => [
  [path, value],
  ...(Predicate.isObjectOrArray(value)
    ? Object.entries(value).flatMap(([name, part]) => pathsOf(part, [...path, name]))
    : []),
]

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (found, name) =>
      Predicate.isObjectOrArray(found) && Object.hasOwn(found, name) ? Reflect.get(found, name) : undefined,
    value,
  )

const bytesOf = (json: unknown): Buffer => Buffer.from(JSON.stringify(json))

/** The beginning of a body that is received in parts; `undefined` if it has no more values than allowed. */
const beginningOf = (body: Buffer, maxValues: number, excerptValues: number, partLength = body.length) => {
  const counter = makeValueCounter(maxValues, excerptValues)
  for (let start = 0; start < body.length; start += partLength) {
    if (counter.count(body.subarray(start, start + partLength))) return counter.beginning()
  }
  return undefined
}

const small = Schema.Struct({ json: Schema.Json })

describe("an excerpt", () => {
  it.prop("the beginning of a text is JSON, and complete where it says so", [small, Schema.Json], ([body, other]) => {
    const json: unknown = JSON.parse(JSON.stringify({ ...body, other: [other, body], "7": other }))
    const beginning = beginningOf(bytesOf(json), 2, 2)
    assert.isDefined(beginning)
    for (const length of [1, 3, 7]) assert.strictEqual(beginningOf(bytesOf(json), 2, 2, length), beginning)
    const excerpt = excerptOfBeginning(JSON.parse(beginning))
    for (const [path, value] of pathsOf(json)) {
      if (excerpt.isComplete(path)) assert.deepStrictEqual(valueAt(excerpt.json, path), value)
    }
    for (const [path, value] of pathsOf(excerpt.json)) {
      if (!Predicate.isObjectOrArray(value)) assert.strictEqual(value, valueAt(json, path))
    }
  })

  it.prop("a text without more values has no beginning of its own", [Schema.Json], ([json]) => {
    const bytes = bytesOf(json)
    assert.isUndefined(beginningOf(bytes, bytes.length, 1))
  })

  it("commas and brackets in strings are no values", () => {
    assert.isUndefined(beginningOf(bytesOf({ a: '",",[{'.repeat(20), b: 1 }), 2, 1))
    assert.strictEqual(beginningOf(bytesOf(["\\", '"', [1, 2], 3]), 3, 3), String.raw`["\\","\"",[1]]`)
  })

  it("a whole value is complete everywhere", () => {
    const { isComplete } = wholeExcerpt({ a: [1] })
    assert.isTrue(isComplete([]) && isComplete(["a", "0"]) && isComplete(["b"]))
  })

  it.prop("a value is short if its JSON is", [Schema.Json], ([json]) => {
    const { length } = JSON.stringify(json)
    assert.isTrue(isShort(json, 2 * length + 10))
    assert.isFalse(isShort(["x".repeat(length + 10), json], length))
  })
})
