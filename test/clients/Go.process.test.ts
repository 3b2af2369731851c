/** The client for Go: its own tests with the vectors. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { withReason } from "../support/skipped.ts"
import { goEnvironment, playWell, root, whyNoGo } from "./programs.ts"

const source = join(root, "clients/go")

describe.skipIf(whyNoGo !== undefined)(withReason("the client for Go", whyNoGo), () => {
  it.effect(
    "passes go vet, its tests and all vectors",
    () =>
      Effect.gen(function* () {
        yield* playWell("go", ["vet", "./..."], { cwd: source, env: goEnvironment })
        yield* playWell("go", ["test", "-count=1", "./..."], { cwd: source, env: goEnvironment })
      }),
    120_000,
  )
})
