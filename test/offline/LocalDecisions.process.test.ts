import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const root = resolve(import.meta.dirname, "../..")
const vectors = join(root, "clients/vectors/local-decisions.json")

const run = (file: string) =>
  spawnSync(process.execPath, ["test/offline/vectorsLocal.ts", file], { cwd: root, encoding: "utf8" })

describe("npm run vectors:local", { timeout: 120_000 }, () => {
  it.live("ends with 0 only for a file whose figures are right in each language", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const right = run(vectors)
      assert.strictEqual(right.status, 0, right.stdout + right.stderr)
      const [, typescript = ""] = right.stdout.split("=== ")
      assert.match(typescript, /^TypeScript\n[^]*\b(\d+) of \1 match\n/)
      const wrong = join(directory, "wrong.json")
      writeFileSync(wrong, readFileSync(vectors, "utf8").replace('"remaining": "600"', '"remaining": "601"'))
      const failed = run(wrong)
      assert.strictEqual(failed.status, 1, failed.stdout + failed.stderr)
      assert.include(failed.stdout, "wrong all-kinds")
      for (const language of ["Python", "Go"]) {
        const [, part = ""] = failed.stdout.split(`=== ${language}\n`)
        const isSkipped = part.startsWith("skipped:")
        assert.strictEqual(failed.stderr.includes(language), !isSkipped, failed.stderr)
      }
      const absent = run(join(directory, "absent.json"))
      assert.strictEqual(absent.status, 1)
      assert.strictEqual(run("").status, 2)
    }).pipe(Effect.scoped),
  )
})
