import { assert, describe, it } from "@effect/vitest"
import selling from "../fixtures/selling.json" with { type: "json" }
import { runSelling } from "./selling.ts"

const results = runSelling(selling)

describe("what is sold, by the cases of the fixture", () => {
  it.each(results)("$id", (result) => {
    assert.isTrue("matches" in result, "is compared")
    if ("matches" in result) assert.deepStrictEqual(result.actual, result.expected)
  })

  it("are compared, all of them, and one of a later kind is named with a reason", () => {
    assert.isAbove(results.length, 40)
    assert.deepStrictEqual(
      runSelling({
        cases: [
          { id: "later", kind: "schedule" },
          { id: "odd", kind: "odd" },
        ],
      }),
      [
        { id: "later", skipped: "there is no next license yet" },
        { id: "odd", skipped: "nothing plays the kind odd" },
      ],
    )
  })

  it("a wrong figure does not match", () => {
    const text = JSON.stringify(selling)
      .replaceAll('"2500.5"', '"2500.4"')
      .replace('"burned":{"A":"30"}', '"burned":{"A":"31"}')
    const wrong = runSelling(JSON.parse(text)).filter((result) => !("matches" in result && result.matches))
    assert.deepStrictEqual(
      wrong.map(({ id }) => id),
      ["included-first", "grant-add"],
    )
  })
})
