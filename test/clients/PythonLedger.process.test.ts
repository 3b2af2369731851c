/** The client for Python that consumes locally, by tranches of the service itself. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestService } from "../support/TestService.ts"
import { withReason } from "../support/skipped.ts"
import { playWell, root, whyNoPython } from "./programs.ts"
import { newInstance } from "./world.ts"

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("products in Python", (it) => {
  it.effect.skipIf(whyNoPython !== undefined)(
    withReason("consume without passing the limit together, and each unit counts once, whatever ends", whyNoPython),
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const { environment } = yield* newInstance
        const directory = yield* temporaryDirectory
        const printed = yield* playWell("python3", ["-W", "error", join(root, "test/clients/python/ledger.py")], {
          cwd: directory,
          env: {
            ...environment,
            PYTHONPATH: join(root, "clients/python/src"),
            PYTHONDONTWRITEBYTECODE: "1",
            KEYSHELF_DIRECTORY: directory,
            KEYSHELF_URL: origins.core,
          },
        })
        assert.deepStrictEqual(JSON.parse(printed), {
          limit: [10, ["service", "service"], 10],
          crash: true,
          restarts: [true, true, true, 3, true, true, 6],
        })
      }).pipe(Effect.scoped),
    120_000,
  )
})
