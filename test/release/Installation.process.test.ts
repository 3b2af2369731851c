import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { checksums } from "../../release/Files.ts"
import { installationAt } from "../../src/cli/doctor/InstallationCheck.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const FILES = ["lib/node", ...Array.from({ length: 8 }, (_, index) => `docs/page ${index}.md`)]

const installed = Effect.fnUntraced(function* () {
  const folder = yield* temporaryDirectory
  for (const part of ["lib", "docs"]) mkdirSync(join(folder, part))
  for (const path of FILES) writeFileSync(join(folder, path), path)
  const list = join(folder, "FILES.sha256")
  writeFileSync(list, checksums(FILES.map((path) => ({ path, content: Buffer.from(path) }))))
  return { folder, list, check: installationAt(pathToFileURL(list)) }
})

describe("the check of the installed files", () => {
  it.live("is ok if all are as released", () =>
    Effect.gen(function* () {
      const { check } = yield* installed()
      const [finding, ...more] = yield* check
      assert.lengthOf(more, 0)
      assert.strictEqual(finding?.state, "ok")
      assert.include(finding?.text, `All ${FILES.length} files`)
    }),
  )

  it.live("warns of a changed and a missing file by name, and counts the rest of many", () =>
    Effect.gen(function* () {
      const { check, folder } = yield* installed()
      writeFileSync(join(folder, "lib/node"), "changed")
      rmSync(join(folder, "docs/page 3.md"))
      const [few] = yield* check
      assert.strictEqual(few?.state, "warning")
      assert.match(few?.text ?? "", /^Not as released: docs\/page 3\.md, lib\/node\. /)
      for (const path of FILES) writeFileSync(join(folder, path), "changed")
      const [many] = yield* check
      assert.match(many?.text ?? "", / and 4 more\. /)
    }),
  )

  it.live("fails if the list is empty, and says nothing of a checkout, which has no list", () =>
    Effect.gen(function* () {
      const { check, list } = yield* installed()
      writeFileSync(list, "")
      assert.strictEqual((yield* check)[0]?.state, "FAILED")
      rmSync(list)
      assert.deepStrictEqual(yield* check, [])
    }),
  )
})
