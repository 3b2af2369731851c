/** `keyshelf/offline` as it is published. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { cpSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

export const root = resolve(import.meta.dirname, "../..")

/** Builds the package from a copy of its sources, and installs what is published of it beside a program. */
export const installed = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const source = join(directory, "source")
  for (const path of ["bin", "src", "migrations", "clients/typescript/src", "release/released.json", "package.json"]) {
    cpSync(join(root, path), join(source, path), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"))
  const { status, stderr, stdout } = spawnSync(process.execPath, ["bin/bundle.mjs"], { cwd: source, encoding: "utf8" })
  assert.strictEqual(status, 0, stdout + stderr)
  const home = join(directory, "node_modules/keyshelf")
  for (const path of ["package.json", "dist/offline"]) {
    cpSync(join(source, path), join(home, path), { recursive: true })
  }
  writeFileSync(join(directory, "package.json"), '{"type": "module"}')
  return { directory, home, module: join(home, "dist/offline/index.js") }
})
