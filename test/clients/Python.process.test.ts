/** The client for Python: its own tests with the vectors. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { withReason } from "../support/skipped.ts"
import { playWell, root, whyNoPython } from "./programs.ts"

const source = join(root, "clients/python")

describe.skipIf(whyNoPython !== undefined)(withReason("the client for Python", whyNoPython), () => {
  it.effect(
    "passes its tests and all vectors, without a warning",
    () =>
      Effect.gen(function* () {
        const args = ["-W", "error", "-m", "unittest", "discover", "-t", ".", "-s", "tests"]
        yield* playWell("python3", args, { cwd: source, env: { PYTHONPATH: "src", PYTHONDONTWRITEBYTECODE: "1" } })
      }),
    240_000,
  )
})
