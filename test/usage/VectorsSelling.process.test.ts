import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const root = resolve(import.meta.dirname, "../..")
const vectors = join(root, "test/fixtures/selling.json")

const run = (...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, ["test/usage/vectorsSelling.ts", ...args], { cwd: root, encoding: "utf8" })

describe("npm run vectors:selling", () => {
  it.effect("ends with 0 if all cases match, with 1 for one wrong figure, and with 2 without a file", () =>
    Effect.gen(function* () {
      const right = run(vectors)
      assert.strictEqual(right.status, 0, right.stderr)
      const { cases } = JSON.parse(readFileSync(vectors, "utf8"))
      assert.include(right.stdout, `${cases.length} of ${cases.length} match`)
      const file = join(yield* temporaryDirectory, "wrong.json")
      const wrongCases = cases.map((one: { readonly kind: string; readonly expect: object }) =>
        one.kind === "grant" ? { ...one, expect: { ...one.expect, value: "-5" } } : one,
      )
      writeFileSync(file, JSON.stringify({ cases: [...wrongCases, { id: "later", kind: "schedule" }] }))
      const wrong = run(file)
      assert.strictEqual(wrong.status, 1)
      assert.include(wrong.stdout, "wrong grant-add")
      assert.include(wrong.stdout, "skipped later: there is no next license yet")
      assert.strictEqual(run().status, 2)
    }),
  )
})
