import { assert, describe, it } from "@effect/vitest"
import { asFound, differences, errorsOfRow } from "../../src/domains/imports/Rules.ts"

describe("what a row changes", () => {
  const at = (millis: number) => new Date(millis)
  it("are those named properties that it has and that differ", () => {
    const record = { name: "A", at: at(1), tags: { a: [1] }, end: null, left: 1 }
    const row = { name: "B", at: at(1), tags: { a: [1] }, end: at(1), other: 2 }
    assert.deepStrictEqual(differences(record, row, ["name", "at", "tags", "end", "left"]), { name: "B", end: at(1) })
    assert.deepStrictEqual(differences(record, { at: at(2) }, ["at"]), { at: at(2) })
    assert.deepStrictEqual(differences(record, { end: null, tags: { a: [2] } }, ["end", "tags"]), { tags: { a: [2] } })
    assert.deepStrictEqual(differences({ at: "x" }, { at: at(2) }, ["at"]), { at: at(2) })
    assert.deepStrictEqual(differences({ at: at(2) }, { at: "x" }, ["at"]), { at: "x" })
  })

  it("is rejected if the record has changed since", () => {
    assert.deepStrictEqual(asFound({ name: "B" }, { updatedAt: at(0) }), {
      name: "B",
      updatedAt: "1970-01-01T00:00:00.000Z",
    })
  })
})

it("errors of a row are errors of the request, with the value as it was sent", () => {
  assert.deepStrictEqual(
    errorsOfRow(
      [
        { location: "body.name", message: "m", value: new Date(0) },
        { location: "path.body", message: "m" },
        { location: "a.body", message: "m", value: null },
      ],
      3,
    ),
    [
      { location: "body.rows[3].name", message: "m", value: "1970-01-01T00:00:00.000Z" },
      { location: "body.rows[3].body", message: "m" },
      { location: "a.body", message: "m", value: null },
    ],
  )
})
