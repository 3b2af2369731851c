import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { schemaFaults } from "../../src/domains/metadata/jsonschema/SchemaPolicy.ts"
import { isKeywords } from "../../src/domains/metadata/jsonschema/Subschemas.ts"
import { validate } from "../../src/domains/metadata/jsonschema/Validator.ts"

interface Case {
  readonly description: string
  readonly schema: unknown
  readonly tests: ReadonlyArray<{ readonly data: unknown; readonly valid: boolean }>
}

const fixtures = join(import.meta.dirname, "../fixtures/json-schema")

const handWritten = JSON.parse(readFileSync(join(fixtures, "cases.json"), "utf8")) as ReadonlyArray<Case>

const madeAtRandom = readFileSync(join(fixtures, "verdicts.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line, index): Case => {
    const { schema, values } = JSON.parse(line) as { schema: unknown; values: ReadonlyArray<[unknown, boolean]> }
    return { description: `line ${index + 1}`, schema, tests: values.map(([data, valid]) => ({ data, valid })) }
  })

/** Figures of a run: how many schemas were refused and why, which verdicts of the others were wrong. */
const run = (cases: ReadonlyArray<Case>) => {
  const reasons = new Map<string, number>()
  const wrong: Array<string> = []
  let accepted = 0
  let refused = 0
  let right = 0
  for (const { description, schema, tests } of cases) {
    const [fault] = isKeywords(schema) ? schemaFaults(schema) : [{ message: "is no object" }]
    if (fault !== undefined) {
      refused++
      reasons.set(fault.message, (reasons.get(fault.message) ?? 0) + 1)
      continue
    }
    accepted++
    for (const { data, valid } of tests) {
      if ((validate(schema, data).length === 0) === valid) right++
      else wrong.push(`${description}: ${JSON.stringify(data)}`)
    }
  }
  return { accepted, refused, reasons: Object.fromEntries(reasons), right, wrong }
}

describe("a value by its schema", () => {
  for (const example of handWritten) {
    it(example.description, () => {
      const { refused, wrong } = run([example])
      assert.deepStrictEqual([refused, wrong], [0, []])
    })
  }

  it("has the verdict of another implementation, for schemas made at random", () => {
    const { accepted, reasons, right, wrong } = run(madeAtRandom)
    assert.deepStrictEqual(wrong, [])
    assert.isAbove(accepted, 600)
    assert.isAbove(right, 3500)
    assert.deepStrictEqual(Object.keys(reasons), ["leads back to itself without a step into the value"])
  })

  it("has the verdict of ajv, where ajv is not known to be wrong", () => {
    const unsure = /unevaluated|\$dynamicRef|"multipleOf"/
    let compared = 0
    for (const { schema, tests } of madeAtRandom) {
      if (!isKeywords(schema) || schemaFaults(schema).length > 0) continue
      // Every one of these schemas defines `d`, with a dynamic reference; few use it.
      const { d: _, ...others } = schema["$defs"] as Record<string, unknown>
      if (unsure.test(JSON.stringify({ ...schema, $defs: others }))) continue
      const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true, logger: false })
      const check = ajv.compile({ ...schema, $defs: others })
      for (const { data } of tests) {
        compared++
        assert.strictEqual(validate(schema, data).length === 0, check(data), JSON.stringify({ schema, data }))
      }
    }
    assert.isAbove(compared, 300)
  })

  it("tells at most twenty faults, each by its pointer", () => {
    const schema = { items: { type: "string" }, properties: { "a/b": { properties: { "~": false } } } }
    assert.strictEqual(validate(schema, Array.from({ length: 99 })).length, 20)
    assert.deepStrictEqual(validate(schema, { "a/b": { "~": 1 } }), [
      { pointer: "/a~1b/~0", message: "is not allowed here" },
    ])
  })

  it("has the verdict of the official suite wherever the schema is accepted, and refuses the others for written rules", () => {
    const folder = join(import.meta.dirname, "../fixtures/json-schema-suite/draft2020-12")
    const cases = readdirSync(folder).flatMap((file) =>
      (JSON.parse(readFileSync(join(folder, file), "utf8")) as ReadonlyArray<Case>).map((group) => ({
        ...group,
        description: `${file} ${group.description}`,
      })),
    )
    const { accepted, reasons, refused, right, wrong } = run(cases)
    assert.deepStrictEqual(wrong, [])
    assert.strictEqual(right, 1022)
    assert.strictEqual(accepted, 289)
    assert.strictEqual(refused, 61)
    // docs/metadata-fields.md has each of these rules.
    assert.deepStrictEqual(Object.keys(reasons).sort(), [
      "holds NUL or a lone surrogate",
      "is a name that another schema in here has",
      "is a name that is not taken",
      "is no object",
      "is taken at the top of the schema only",
      "must be https://json-schema.org/draft/2020-12/schema, or absent",
      "must be local: #...",
    ])
  })
})
