import { assert, describe, it } from "@effect/vitest"
import { propertiesOf } from "../../../src/cli/remote/import/ImportRows.ts"

describe("a row of a CSV file", () => {
  it("has properties for its cells that are not empty", () => {
    assert.deepStrictEqual(propertiesOf({ name: "Globex", slug: "", domain: "globex.example" }), {
      name: "Globex",
      domain: "globex.example",
    })
  })

  it("sets nothing where a cell is null, but may be called null", () => {
    assert.deepStrictEqual(propertiesOf({ name: "null", endLicenseDate: "null" }), {
      name: "null",
      endLicenseDate: null,
    })
  })

  it("has numbers, booleans and objects where they are expected, and texts elsewhere", () => {
    assert.deepStrictEqual(propertiesOf({ slug: "007", value: "5", graceDays: "14" }), {
      slug: "007",
      value: 5,
      graceDays: 14,
    })
    assert.deepStrictEqual(propertiesOf({ value: "true" }), { value: true })
    assert.deepStrictEqual(propertiesOf({ value: '{"level": "gold"}' }), { value: { level: "gold" } })
    // The service says what is wrong with it.
    assert.deepStrictEqual(propertiesOf({ value: "five" }), { value: "five" })
  })

  it("has an object where the names of columns have a dot", () => {
    assert.deepStrictEqual(propertiesOf({ "metadata.region": "eu", "metadata.tier": "", "metadata.owner": "anna" }), {
      metadata: { region: "eu", owner: "anna" },
    })
  })
})
