import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { blocksOf } from "../support/pageScript.ts"

const read = (page: string) => readFileSync(join(resolve(import.meta.dirname, "../.."), page), "utf8")
const readme = read("README.md")

/** The commands of a text's blocks, without comments. */
const commandsIn = (text: string): ReadonlyArray<string> =>
  blocksOf(text).flatMap((block) =>
    block.text
      .trim()
      .split("\n")
      .map((line) => line.replace(/ +# .*$/, "")),
  )

const [beginning = "", ...sections] = readme.split("\n## ")

const section = (heading: string): string =>
  sections.find((text) => text.startsWith(`${heading}\n`)) ?? assert.fail(`There is no "${heading}"`)

describe("the README", () => {
  it("begins with a command to try it, to install it on one machine, and on Kubernetes", () => {
    assert.deepStrictEqual(commandsIn(beginning), [
      "npx keyshelf try",
      "sudo apt install ./keyshelf_<version>_amd64.deb postgresql && sudo keyshelf setup",
      "helm install keyshelf ./keyshelf-chart-<version>.tgz --set existingSecret=keyshelf",
    ])
  })

  it("then has the two lines that verify a release, as the page about it", () => {
    assert.isTrue(sections[0]?.startsWith("Verify\n"))
    const verifying = commandsIn(read("docs/verifying.md")).slice(0, 2)
    assert.deepStrictEqual(commandsIn(section("Verify")), verifying)
  })

  it("then starts and tests a checkout", () => {
    assert.isTrue(sections[1]?.startsWith("From a checkout\n"))
    const commands = commandsIn(section("From a checkout"))
    assert.strictEqual(commands[0], "npm ci && npm start")
    assert.include(commands, "npm ci && npm test")
  })
})
