import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeFolders } from "../../src/infra/embedded/Folders.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

describe("the folders of the service", () => {
  it.effect("are created with those above them; the first new one is returned", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      assert.strictEqual(makeFolders(join(directory, "a/b/c")), join(directory, "a"))
      assert.isTrue(statSync(join(directory, "a/b/c")).isDirectory())
      assert.isUndefined(makeFolders(join(directory, "a/b/c")))
      assert.strictEqual(makeFolders(join(directory, "a/b/d")), join(directory, "a/b/d"))
    }).pipe(Effect.scoped),
  )

  it.effect("fail with the reason of the file system", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      writeFileSync(join(directory, "file"), "")
      assert.throws(() => makeFolders(join(directory, "file")), /EEXIST/)
      assert.throws(() => makeFolders(join(directory, "file/a")), /ENOTDIR/)
    }).pipe(Effect.scoped),
  )
})
