import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")
const read = (page: string) => readFileSync(join(root, page), "utf8")

/** The text under a heading, down to the next one. */
const section = (page: string, heading: string): string =>
  page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? assert.fail(`There is no heading "${heading}"`)

const model = read("docs/threat-model.md")

const threats = section(model, "Threats")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(1)

/** The test that a line of the table names: its file, and its title. */
const testOf = (line: string): readonly [file: string, title: string] => {
  const [, file = "", title = ""] = /\| `(test\/[^`]+\.test\.ts)` "([^|]+)" \|$/.exec(line) ?? []
  return [file, title]
}

/** Whether a file has a test with the title, and not only the text. */
const hasTest = (source: string, title: string): boolean =>
  [JSON.stringify(title), `\`${title}\``].some((text) =>
    source
      .split(text)
      .slice(0, -1)
      .some((before) => /\bit(?:\.\w+)*\(\s*$/.test(before)),
  )

describe("the threat model", () => {
  it("has at least twenty threats, each with what stops it", () => {
    assert.isAtLeast(threats.length, 20)
    for (const line of threats) assert.lengthOf(line.split(" | "), 4, line)
    assert.strictEqual(new Set(threats).size, threats.length)
  })

  it.each(threats)("names a test that exists: %s", (line) => {
    const [file, title] = testOf(line)
    assert.isTrue(file !== "" && existsSync(join(root, file)), `no such file: ${line}`)
    assert.isTrue(hasTest(read(file), title), `${file} has no test "${title}"`)
  })

  it("does not take a text for a test", () => {
    assert.isTrue(hasTest('it("is one", () => {})', "is one"))
    assert.isTrue(hasTest('it.effect(\n  "is one", () => {})', "is one"))
    assert.isFalse(hasTest('assert.include(text, "is one")', "is one"))
  })

  it("says what nothing stops", () => {
    assert.isAbove(section(model, "What nothing stops").split("\n- **").length, 5)
  })
})

describe("SECURITY.md", () => {
  it("prints the public key that releases are verified with, once there is one", () => {
    const key = join(root, "release/keyshelf.pub")
    const page = read("SECURITY.md")
    const [, printed = ""] = existsSync(key) ? readFileSync(key, "utf8").trim().split("\n") : []
    if (printed !== "") assert.include(page, printed)
    else assert.include(page, "Until then there is none")
  })

  it("says within what time reports are answered, assessed and fixed", () => {
    for (const text of ["3 working days", "7 days", "30 days", "90 days", "24 hours"]) {
      assert.include(section(read("SECURITY.md"), "Report a weakness"), text)
    }
  })
})
