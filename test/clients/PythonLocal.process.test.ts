/** The client for Python in local mode, beside a service that runs. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestService } from "../support/TestService.ts"
import { withReason } from "../support/skipped.ts"
import { playWell, root, whyNoPython } from "./programs.ts"
import { newInstance } from "./world.ts"

const played = Effect.gen(function* () {
  const { origins } = yield* TestService
  const { environment, usageOf, vendor } = yield* newInstance
  const directory = yield* temporaryDirectory
  const source = { PYTHONPATH: join(root, "clients/python/src"), PYTHONDONTWRITEBYTECODE: "1" }
  const stored = { KEYSHELF_DIRECTORY: join(directory, "keyshelf"), KEYSHELF_URL: origins.core }
  const program = ["-W", "error", join(root, "test/clients/python/local.py")]
  const seen = JSON.parse(
    yield* playWell("python3", program, { cwd: directory, env: { ...environment, ...vendor, ...source, ...stored } }),
  )
  return { seen, usage: yield* usageOf("exports") }
})

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("a product in Python", (it) => {
  it.effect.skipIf(whyNoPython !== undefined)(
    withReason("decides by itself, follows each change within a second, and works on without the service", whyNoPython),
    () =>
      Effect.gen(function* () {
        const { seen, usage } = yield* played
        const { changed, revoked, ...rest } = seen
        assert.deepStrictEqual(rest, {
          connected: [
            [true, "GRANTED", "snapshot"],
            [false, "LIMIT_REACHED", "snapshot"],
            [false, "ENTITLEMENT_NOT_FOUND", "snapshot"],
          ],
          flags: [true, "snapshot"],
          same: [true, true, true, true, true, true, true],
          consumed: "snapshot",
          away: [[false, "NOT_GRANTED", "snapshot"], [true, "GRANTED", "snapshot"], "STALE"],
          published: [true, "GRANTED", "snapshot"],
          restarted: [false, "ACCESS_REVOKED", "service"],
          wrongToken: "Auth.InvalidCredential",
        })
        assert.isBelow(changed, 1)
        // The stream ends within a second, and names when to connect again.
        assert.isBelow(revoked, 6)
        assert.include(usage, { value: 3 })
      }).pipe(Effect.scoped),
    120_000,
  )
})
