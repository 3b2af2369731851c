import { assert, describe, it } from "@effect/vitest"
import { repeatedComponents, unknownComponents } from "../../src/domains/releases/Rules.ts"

describe("the components of a release", () => {
  it("only the repetitions of an id are at fault", () => {
    assert.deepStrictEqual(
      repeatedComponents(["a", "b", "a", "a"]).map((fault) => fault.location),
      ["body.componentIds[2]", "body.componentIds[3]"],
    )
    assert.deepStrictEqual(repeatedComponents([]), [])
  })

  it("every id that was not found is at fault", () => {
    assert.deepStrictEqual(unknownComponents(["a", "b"], new Set(["b"])), [
      { location: "body.componentIds[0]", message: "names no component", value: "a" },
    ])
  })
})
