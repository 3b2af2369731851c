import { assert, describe, it } from "@effect/vitest"
import { repeatedComponents, unknownComponents } from "../../src/domains/releases/Rules.ts"

describe("validation of a release's components", () => {
  it("reports every repetition of an id, but not its first occurrence", () => {
    assert.deepStrictEqual(
      repeatedComponents(["a", "b", "a", "a"]).map((error) => error.location),
      ["body.componentIds[2]", "body.componentIds[3]"],
    )
    assert.deepStrictEqual(repeatedComponents([]), [])
  })

  it("reports every id that was not found", () => {
    assert.deepStrictEqual(unknownComponents(["a", "b"], new Set(["b"])), [
      { location: "body.componentIds[0]", message: "does not name an existing component", value: "a" },
    ])
  })
})
