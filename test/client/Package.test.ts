import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { temporaryDirectory } from "../support/ServiceProcess.ts"
import { TestService } from "../support/TestService.ts"

const root = resolve(import.meta.dirname, "../..")
const tsc = join(root, "node_modules/typescript/bin/tsc")

const run = (cwd: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  Effect.promise(
    () =>
      new Promise<{ code: number | null; output: string }>((done) => {
        const child = spawn(process.execPath, args, { cwd, env: { PATH: process.env["PATH"] ?? "", ...env } })
        let output = ""
        child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
        child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()))
        child.on("close", (code) => done({ code, output }))
      }),
  )

/** A project with the package installed: the client files that `npm pack` ships, and `effect`. */
const consumer = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const installed = join(directory, "node_modules/keyshelf")
  mkdirSync(installed, { recursive: true })
  copyFileSync(join(root, "package.json"), join(installed, "package.json"))
  const built = yield* run(root, [tsc, "--project", "tsconfig.client.json", "--outDir", join(installed, "dist/client")])
  assert.strictEqual(built.code, 0, built.output)
  symlinkSync(join(root, "node_modules/effect"), join(directory, "node_modules/effect"))
  writeFileSync(join(directory, "package.json"), '{"type": "module"}')
  copyFileSync(join(root, "examples/check-usage.ts"), join(directory, "check-usage.ts"))
  return directory
})

const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2024"]

layer(TestService.layer, { excludeTestServices: true, timeout: 60_000 })("the installed package", (it) => {
  it.effect(
    "keyshelf/client runs the example in a separate project, and its types include each endpoint's problems",
    () =>
      Effect.gen(function* () {
        const { origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const directory = yield* consumer
        const played = yield* run(directory, ["check-usage.ts"], { KEYSHELF_URL: origins.core, KEYSHELF_TOKEN: token })
        assert.strictEqual(played.code, 0, played.output)
        assert.deepStrictEqual(played.output.trim().split("\n"), [
          "checked: allowed=true reason=GRANTED remaining=100",
          "consumed: remaining=60",
          "reported: used=90 of 100",
          "rejected: ReportUsage.ThresholdExceeded",
          'not found: There is no instance "unknown".',
        ])

        // The same example with a tag that reading an instance cannot fail with must not compile.
        const example = readFileSync(join(directory, "check-usage.ts"), "utf8")
        writeFileSync(join(directory, "wrong.ts"), example.replace("Instance.NotFound", "Customer.NotFound"))
        const checked = yield* run(directory, [tsc, ...strict, "--skipLibCheck", "check-usage.ts", "wrong.ts"])
        const typeErrors = checked.output.split("\n").filter((line) => line.includes("error TS"))
        assert.isNotEmpty(typeErrors, checked.output)
        for (const error of typeErrors) assert.match(error, /^wrong\.ts/)
        assert.include(checked.output, "Customer.NotFound")
      }),
    180_000,
  )
})
