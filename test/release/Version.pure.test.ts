import { assert, describe, it } from "@effect/vitest"
import { differing, notesOf, places, released, releasedDocuments, replaced, version } from "../../release/Version.ts"
import { readText } from "../../release/Files.ts"

describe("the version", () => {
  it("is the same at all places", () => {
    const wrong = differing(version()).map(({ found, place }) => `${place.file} has ${found}`)
    assert.deepStrictEqual(wrong, [])
  })

  it("is replaced at each place, and nowhere else", () => {
    for (const place of places) {
      const text = readText(place.file)
      const next = replaced(text, place, "9.8.7")
      const all = new RegExp(place.pattern, "gm")
      const versions = (of: string) =>
        Array.from(of.matchAll(all), ([, found]) => found).slice(0, place.pattern.global ? undefined : 1)
      assert.deepStrictEqual(new Set(versions(next)), new Set(["9.8.7"]), place.file)
      const before = text.split("\n")
      const changed = next.split("\n").filter((line, index) => line !== before[index])
      assert.lengthOf(changed, versions(text).length, place.file)
    }
    assert.throws(
      () => replaced("", { file: "nothing.json", pattern: /"version": "([^"]+)"/ }, "1.0.0"),
      "nothing.json",
    )
  })

  it("keeps a copy of each document of the API, under the version, unless it is only tried", () => {
    const copies = releasedDocuments("9.8.7")
    assert.deepStrictEqual(Object.keys(copies), [
      "openapi/released/9.8.7/core.json",
      "openapi/released/9.8.7/platform.json",
      "openapi/released/9.8.7/webhooks.json",
    ])
    for (const [file, copy] of Object.entries(copies)) {
      const document = JSON.parse(readText(file.replace("released/9.8.7/", "")))
      assert.deepStrictEqual(JSON.parse(copy), { ...document, info: { ...document.info, version: "9.8.7" } })
    }
    assert.deepStrictEqual(releasedDocuments("9.8.7-rc.1"), {})
  })

  it("has the changelog's part as notes", () => {
    const changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0 (2026-01-01)\n\n- old\n"
    assert.strictEqual(notesOf(changelog, "0.1.0"), "- old\n")
    assert.strictEqual(notesOf(changelog, "0.2.0"), "- new\n")
    assert.strictEqual(notesOf(released(changelog, "0.2.0", "2026-12-01"), "0.2.0"), "- new\n")
    assert.throws(() => released("# Changelog\n", "0.2.0", "2026-12-01"), "Unreleased")
  })
})
