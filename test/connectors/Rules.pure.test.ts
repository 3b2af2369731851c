import { assert, describe, it } from "@effect/vitest"
import { documentError, includedByDefault, includes, listedAfter } from "../../src/domains/connectors/Rules.ts"

describe("an inclusion", () => {
  it.each([
    [["*"], true],
    [["crm"], true],
    [["billing", "crm"], true],
    [["billing"], false],
    [[], false],
    [includedByDefault, true],
  ])("%j covers the connector crm: %s", (connectors, expected) => {
    assert.strictEqual(includes(connectors, "crm"), expected)
  })
})

describe("a list, newest first", () => {
  const items = ["d", "c", "b", "a"].map((id) => ({ id }))
  it("goes on after a position, up to a count", () => {
    const ids = (after: string | null, count: number) =>
      listedAfter(items, after === null ? null : [after], count)
        .map(({ id }) => id)
        .join("")
    assert.deepStrictEqual(
      [ids(null, 2), ids("c", 2), ids("c", 9), ids("a", 9), ids("bb", 1)],
      ["dc", "ba", "ba", "", "b"],
    )
  })
})

describe("a stored document", () => {
  const nested = (levels: number): unknown => (levels === 0 ? "x" : { a: nested(levels - 1) })
  const sized = (bytes: number) => ({ a: "x".repeat(bytes - '{"a":""}'.length) })

  it.each([63, 64, 65])("has at most 64 levels: %d", (levels) => {
    assert.strictEqual(documentError(nested(levels)) === undefined, levels <= 64)
    assert.strictEqual(documentError({ a: [nested(levels - 2)] }) === undefined, levels <= 64)
  })

  it.each([65_535, 65_536, 65_537])("has at most 64 KiB: %d bytes", (bytes) => {
    assert.strictEqual(documentError(sized(bytes)) === undefined, bytes <= 65_536)
  })

  it("has no text that cannot be stored, nor such a name", () => {
    for (const text of ["\u0000", "a\ud800"]) {
      assert.match(documentError({ a: [text] }) ?? "", /^must not contain NUL or lone surrogates/)
      assert.match(documentError({ [text]: 1 }) ?? "", /^must not contain NUL or lone surrogates/)
    }
    assert.isUndefined(documentError({ a: [null, 1, true, "ü"] }))
  })
})
