import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { schemaErrors } from "../../src/domains/metadata/jsonschema/SchemaPolicy.ts"
import { isKeywords } from "../../src/domains/metadata/jsonschema/Subschemas.ts"
import { validate } from "../../src/domains/metadata/jsonschema/Validator.ts"

interface Case {
  readonly description: string
  readonly schema: unknown
  readonly tests: ReadonlyArray<{ readonly data: unknown; readonly valid: boolean }>
}

const fixtures = join(import.meta.dirname, "../fixtures/json-schema")

const handWritten = JSON.parse(readFileSync(join(fixtures, "cases.json"), "utf8")) as ReadonlyArray<Case>

const randomCases = readFileSync(join(fixtures, "verdicts.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line, index): Case => {
    const { schema, values } = JSON.parse(line) as { schema: unknown; values: ReadonlyArray<[unknown, boolean]> }
    return { description: `line ${index + 1}`, schema, tests: values.map(([data, valid]) => ({ data, valid })) }
  })

const rejections = new WeakMap<Case, string | null>()

/** Why the policy rejects the schema of a case, or `null`. */
const rejectionOf = (one: Case): string | null => {
  const known = rejections.get(one)
  if (known !== undefined) return known
  const [error] = isKeywords(one.schema) ? schemaErrors(one.schema) : [{ message: "is not an object" }]
  rejections.set(one, error?.message ?? null)
  return error?.message ?? null
}

/** Validates the cases. Returns how many schemas were rejected and why, and which verdicts of the others were wrong. */
const run = (cases: ReadonlyArray<Case>) => {
  const reasons = new Map<string, number>()
  const wrong: Array<string> = []
  let accepted = 0
  let rejected = 0
  let right = 0
  for (const one of cases) {
    const { description, schema, tests } = one
    const rejection = rejectionOf(one)
    if (rejection !== null) {
      rejected++
      reasons.set(rejection, (reasons.get(rejection) ?? 0) + 1)
      continue
    }
    accepted++
    for (const { data, valid } of tests) {
      if ((validate(schema, data).length === 0) === valid) right++
      else wrong.push(`${description}: ${JSON.stringify(data)}`)
    }
  }
  return { accepted, rejected, reasons: Object.fromEntries(reasons), right, wrong }
}

describe("validation of a value by its schema", () => {
  for (const example of handWritten) {
    it(example.description, () => {
      const { rejected, wrong } = run([example])
      assert.deepStrictEqual([rejected, wrong], [0, []])
    })
  }

  it("agrees with Python's jsonschema on randomly generated schemas", () => {
    const { accepted, reasons, right, wrong } = run(randomCases)
    assert.deepStrictEqual(wrong, [])
    assert.isAbove(accepted, 600)
    assert.isAbove(right, 3500)
    assert.deepStrictEqual(Object.keys(reasons), ["refers back to itself for the same value"])
  })

  it("agrees with ajv on randomly generated schemas, except for keywords where ajv is known to be wrong", () => {
    const wrongInAjv = /unevaluated|\$dynamicRef|"multipleOf"/
    let compared = 0
    // The policy has checked the schemas. To compile the dialect for each would take longer than all else.
    const options = { strict: false, validateFormats: false, ownProperties: true, logger: false } as const
    for (const one of randomCases) {
      const { schema, tests } = one
      if (!isKeywords(schema) || rejectionOf(one) !== null) continue
      // All of these schemas define `d` with a dynamic reference, but few use it.
      const { d: _, ...others } = schema["$defs"] as Record<string, unknown>
      if (wrongInAjv.test(JSON.stringify({ ...schema, $defs: others }))) continue
      const ajv = new Ajv2020({ ...options, meta: false, validateSchema: false })
      const check = ajv.compile({ ...schema, $defs: others })
      for (const { data } of tests) {
        compared++
        assert.strictEqual(validate(schema, data).length === 0, check(data), JSON.stringify({ schema, data }))
      }
    }
    assert.isAbove(compared, 300)
  })

  it("returns at most twenty errors, each with its pointer", () => {
    const schema = { items: { type: "string" }, properties: { "a/b": { properties: { "~": false } } } }
    assert.strictEqual(validate(schema, Array.from({ length: 99 })).length, 20)
    assert.deepStrictEqual(validate(schema, { "a/b": { "~": 1 } }), [
      { pointer: "/a~1b/~0", message: "is not allowed here" },
    ])
  })

  it("agrees with the official test suite on accepted schemas, and rejects the others by documented rules", () => {
    const folder = join(import.meta.dirname, "../fixtures/json-schema-suite/draft2020-12")
    const cases = readdirSync(folder).flatMap((file) =>
      (JSON.parse(readFileSync(join(folder, file), "utf8")) as ReadonlyArray<Case>).map((group) => ({
        ...group,
        description: `${file} ${group.description}`,
      })),
    )
    const { accepted, reasons, rejected, right, wrong } = run(cases)
    assert.deepStrictEqual(wrong, [])
    assert.strictEqual(right, 1022)
    assert.strictEqual(accepted, 289)
    assert.strictEqual(rejected, 61)
    // docs/metadata-fields.md documents each of these rules.
    assert.deepStrictEqual(Object.keys(reasons).sort(), [
      "is allowed only at the top of the schema",
      "is not an allowed property name",
      "is not an object",
      "must be a local reference (`#...`)",
      "must be https://json-schema.org/draft/2020-12/schema or omitted",
      "must be unique in this document",
      "must not contain NUL or a lone surrogate",
    ])
  })
})
