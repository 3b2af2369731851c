import { assert, describe, it } from "@effect/vitest"
import { repeatedComponentErrors, unknownComponentErrors } from "../../src/domains/releases/Rules.ts"

describe("validation of a release's components", () => {
  it("reports every repetition of an id, but not its first occurrence", () => {
    assert.deepStrictEqual(
      repeatedComponentErrors(["a", "b", "a", "a"]).map((error) => error.location),
      ["body.componentIds[2]", "body.componentIds[3]"],
    )
    assert.deepStrictEqual(repeatedComponentErrors([]), [])
  })

  it("reports every id that was not found", () => {
    assert.deepStrictEqual(unknownComponentErrors(["a", "b"], new Set(["b"])), [
      { location: "body.componentIds[0]", message: "must be the id of an existing component", value: "a" },
    ])
  })
})
