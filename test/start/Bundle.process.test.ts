import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { entryIn } from "../../bin/entry.mjs"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const root = resolve(import.meta.dirname, "../..")

const node = (cwd: string, ...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" })
  return { status, output: stdout + stderr }
}

/** An installation of empty files with the given modification times. */
const installation = Effect.fnUntraced(function* (files: Readonly<Record<string, number>>) {
  const directory = yield* temporaryDirectory
  for (const [file, second] of Object.entries(files)) {
    mkdirSync(join(directory, file, ".."), { recursive: true })
    writeFileSync(join(directory, file), "")
    utimesSync(join(directory, file), second, second)
  }
  return directory
})

const BUNDLE = "dist/server/cli.mjs"

describe("the bundle", { concurrent: true, timeout: 60_000 }, () => {
  it.live.each([
    { title: "runs if it is not older than the sources", files: { [BUNDLE]: 2, "src/cli.ts": 2 }, entry: BUNDLE },
    { title: "runs if there are no sources", files: { [BUNDLE]: 2 }, entry: BUNDLE },
    {
      title: "does not run if a source is newer",
      files: { [BUNDLE]: 2, "src/domains/usage/check/Model.ts": 3 },
      entry: "src/cli.ts",
    },
    {
      title: "does not run if a migration is newer",
      files: { [BUNDLE]: 2, "migrations/index.ts": 3 },
      entry: "src/cli.ts",
    },
    {
      title: "does not run if a source that the clients share is newer",
      files: { [BUNDLE]: 2, "clients/typescript/src/Responses.ts": 3 },
      entry: "src/cli.ts",
    },
    {
      title: "does not run if the lock file is newer",
      files: { [BUNDLE]: 2, "package-lock.json": 3 },
      entry: "src/cli.ts",
    },
    { title: "does not run if it was not built; the sources do", files: { "src/cli.ts": 2 }, entry: "src/cli.ts" },
  ])("$title", ({ entry, files }) =>
    Effect.gen(function* () {
      const directory = yield* installation(files)
      assert.strictEqual(entryIn(directory), pathToFileURL(join(directory, entry)).href)
    }),
  )

  it.live("runs without sources and packages, and generates the same documents", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      for (const path of [
        "bin",
        "src",
        "clients/typescript/src",
        "migrations",
        "openapi",
        "docs/errors.md",
        "docs/upgrading.md",
        "release/released.json",
        "package.json",
      ]) {
        cpSync(join(root, path), join(directory, path), { recursive: true })
      }
      symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
      const made = node(directory, "bin/bundle.mjs")
      assert.strictEqual(made.status, 0, made.output)
      for (const path of ["src", "clients", "migrations", "node_modules"])
        rmSync(join(directory, path), { recursive: true })
      const checked = node(directory, "bin/keyshelf.mjs", "openapi", "--check")
      assert.strictEqual(checked.status, 0, checked.output)
    }),
  )

  it.live("the console is skipped where the packages that build it are missing", () =>
    Effect.gen(function* () {
      const directory = yield* installation({ "console/vite.config.ts": 1, "bin/console.mjs": 1 })
      for (const script of ["bin/console.mjs", "bin/packages.mjs"]) cpSync(join(root, script), join(directory, script))
      const skipped = node(directory, "bin/console.mjs")
      assert.strictEqual(skipped.status, 0, skipped.output)
      assert.match(skipped.output, /^Skipped the console: /)
      assert.isFalse(existsSync(join(directory, "dist")))
    }),
  )

  it.live("serves with the command that npm runs", () =>
    Effect.gen(function* () {
      const env = yield* settings(yield* temporaryDirectory, randomCredential())
      const service = yield* start(["serve"], env, "bin/keyshelf.mjs")
      yield* service.ready
      service.process.kill("SIGTERM")
      assert.strictEqual((yield* service.ended).code, 0)
    }),
  )
})
