/** The client for Python: its own tests with the vectors, and an installation into an empty project. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { temporaryDirectory } from "../support/ServiceProcess.ts"
import { withReason } from "../support/skipped.ts"
import { playWell, root, whyNoPython, whyWithout } from "./programs.ts"

const source = join(root, "clients/python")

const whyNoPip = whyNoPython ?? whyWithout("python3", ["-m", "pip", "--version"], /^pip /)

describe.skipIf(whyNoPython !== undefined)(withReason("the client for Python", whyNoPython), () => {
  it.effect(
    "passes its tests and all vectors, without a warning",
    () =>
      Effect.gen(function* () {
        const args = ["-W", "error", "-m", "unittest", "discover", "-t", ".", "-s", "tests"]
        yield* playWell("python3", args, { cwd: source, env: { PYTHONPATH: "src", PYTHONDONTWRITEBYTECODE: "1" } })
      }),
    60_000,
  )

  it.effect.skipIf(whyNoPip !== undefined)(
    withReason("is installed into an empty project without a package index", whyNoPip),
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const target = join(directory, "packages")
        const pip = ["-m", "pip", "install", "--no-index", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
        yield* playWell("python3", [...pip, "--target", target, source], { cwd: directory })
        const program = "import keyshelf, keyshelf.offline; print(keyshelf.__file__)"
        const printed = yield* playWell("python3", ["-c", program], { cwd: directory, env: { PYTHONPATH: target } })
        assert.strictEqual(printed.trim(), join(target, "keyshelf/__init__.py"))
      }).pipe(Effect.scoped),
    60_000,
  )
})
