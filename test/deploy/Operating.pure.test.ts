import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as SettingsCheck from "../../src/cli/doctor/SettingsCheck.ts"

const root = resolve(import.meta.dirname, "../..")
const read = (page: string) => readFileSync(join(root, page), "utf8")

/** The text under a heading, down to the next heading of any level. */
const section = (page: string, heading: string) => {
  const [, text] = read(page).split(`\n${heading}\n`)
  if (text === undefined) throw new Error(`${page} has no heading "${heading}"`)
  return text.split(/\n##+ /)[0] ?? ""
}

describe("the operator's pages", () => {
  it.effect("list every setting that the service reads, and no other", () =>
    Effect.gen(function* () {
      const { exit, names } = yield* SettingsCheck.readSettings(ConfigProvider.fromEnvRecord({}))
      assert.isTrue(Exit.isSuccess(exit))
      const listed = section("docs/operating.md", "### Settings")
        .split("\n")
        .filter((line) => line.startsWith("| `"))
        .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1] ?? ""))
      assert.sameMembers(listed, names)
    }),
  )

  it("name only files that exist", () => {
    // The operator creates this one from the example.
    const own = "deploy/.env"
    for (const page of ["docs/operating.md", "docs/scaling.md", "docs/client.md"]) {
      const files = [...read(page).matchAll(/\b(?:deploy|examples)\/[\w./-]*\w/g)].map(([file]) => file)
      for (const file of files.filter((name) => name !== own)) assert.isTrue(existsSync(join(root, file)), file)
    }
  })
})
