import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { withReason } from "../support/skipped.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const root = resolve(import.meta.dirname, "../..")

const why = process.platform === "linux" ? undefined : "a script of sh replaces Node.js in the package for Linux"

const PACKAGED = `node-linux-${process.arch}`

/** Makes this Node.js look like another one. */
const asVersion = (version: string) =>
  `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`

/** An installation of the starters alone. The script, if there is one, replaces the packaged Node.js. */
const installed = Effect.fnUntraced(function* (script?: string) {
  const folder = yield* temporaryDirectory
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true })
  const { optionalDependencies, type } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  assert.property(optionalDependencies, PACKAGED)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "keyshelf", type, optionalDependencies }))
  if (script === undefined) return folder
  const packaged = join(folder, "node_modules", PACKAGED)
  mkdirSync(join(packaged, "bin"), { recursive: true })
  writeFileSync(join(packaged, "package.json"), "{}")
  writeFileSync(join(packaged, "bin/node"), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return folder
})

/** Starts the command on a Node.js of version 20. */
const started = (folder: string, ...args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, ["--import", asVersion("20.19.0"), "bin/keyshelf.mjs", ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const output = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => (output[name] += chunk.toString()))
  const closed = new Promise<number | null>((done) => child.on("close", done))
  const outcome = Effect.promise(async () => ({ code: await closed, ...output }))
  return { child, outcome }
}

describe.skipIf(why !== undefined)(withReason("the command on an old Node.js", why), () => {
  it.live("runs on the packaged Node.js, with its arguments and exit code", () =>
    Effect.gen(function* () {
      const folder = yield* installed('echo "packaged: $*"; exit 7')
      const { code, stdout } = yield* started(folder, "migrate", "--dry-run").outcome
      assert.match(stdout, /^packaged: --import .*\/bin\/keyshelf\.mjs migrate --dry-run$/m)
      assert.strictEqual(code, 7)
    }),
  )

  it.live("passes on the signal that stops it", () =>
    Effect.gen(function* () {
      const folder = yield* installed("trap 'echo stopped; exit 3' TERM; echo up; while :; do sleep 0.05; done")
      const { child, outcome } = started(folder, "serve")
      yield* Effect.promise(() => new Promise((up) => child.stdout.once("data", up)))
      child.kill("SIGTERM")
      const { code, stdout } = yield* outcome
      assert.strictEqual(stdout, "up\nstopped\n")
      assert.strictEqual(code, 3)
    }),
  )

  it.live("names the library that the packaged Node.js lacks", () =>
    Effect.gen(function* () {
      const folder = yield* installed("exit 127")
      const { code, stderr } = yield* started(folder, "serve").outcome
      assert.include(stderr, "apt-get install libatomic1")
      assert.strictEqual(code, 127)
    }),
  )

  it.live("says what is missing where the packaged Node.js is not installed", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* started(yield* installed(), "serve").outcome
      assert.match(stderr, /^Keyshelf needs Node\.js 22\.19 or newer, but this is 20\.19\.0, .*--omit=optional/)
      assert.strictEqual(code, 1)
    }),
  )
})
