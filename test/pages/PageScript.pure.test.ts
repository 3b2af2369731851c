import { assert, describe, it } from "@effect/vitest"
import { differences, documentsIn, examplesOf } from "../support/pageScript.ts"

const fence = "```"

describe("the examples of a page", () => {
  it("are its blocks of shell, with the JSON that directly follows", () => {
    const page = [
      `${fence}sh`,
      "get /a",
      fence,
      "It prints:",
      `${fence}json`,
      `{"a": 1}`,
      fence,
      `${fence}sh`,
      "get /b",
      fence,
      "First line.",
      "Second line.",
      `${fence}json`,
      "{}",
      fence,
    ].join("\n")
    assert.deepStrictEqual(examplesOf(page), [
      { line: 1, script: "get /a\n", shown: [{ a: 1 }] },
      { line: 8, script: "get /b\n", shown: [] },
    ])
  })

  it("in a list lose its indentation", () => {
    assert.deepStrictEqual(examplesOf(`- Do this:\n\n  ${fence}sh\n  get /a\n    --x\n  ${fence}\n`), [
      { line: 3, script: "get /a\n  --x\n", shown: [] },
    ])
  })
})

describe("the output of an example", () => {
  it("is all its JSON documents, without the text between them", () => {
    assert.deepStrictEqual(documentsIn('begin {1}\n{"a": "}"}{"b": [2]}\nend\n[3]\n'), [{ a: "}" }, { b: [2] }, [3]])
  })

  it("differs from what the page shows by a missing, an additional or another property", () => {
    assert.deepStrictEqual(differences({ a: 1, b: 2 }, { a: 1, c: 3 }), [
      "$.b: the service does not return it",
      "$.c: the page does not show it",
    ])
    assert.deepStrictEqual(differences({ a: [1] }, { a: [2] }), ["$.a[0]: the page shows 1, the service returns 2"])
    assert.deepStrictEqual(differences([1], []), ["$: the page shows 1 items, the service returns 0"])
    assert.deepStrictEqual(differences({ a: null }, { a: 1 }), ["$.a: the page shows null, the service returns number"])
  })

  it("may have other ids, times and abbreviated texts than the page shows", () => {
    const shown = { id: "01a211e6-1c57-7415-9853-8ef5a59bf5b5", at: "2026-11-25T08:50:22.935Z", token: "ksh_..." }
    const real = { id: "01b211e6-0000-7415-9853-8ef5a59bf5b5", at: "2027-01-01T00:00:00.000Z", token: "ksh_abc" }
    assert.deepStrictEqual(differences(shown, real), [])
    assert.lengthOf(differences({ token: "ksh_..." }, { token: "ksm_abc" }), 1)
    assert.lengthOf(differences({ at: shown.at }, { at: "soon" }), 1)
  })
})
