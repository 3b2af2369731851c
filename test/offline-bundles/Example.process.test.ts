import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import { TestService } from "../support/TestService.ts"

const root = resolve(import.meta.dirname, "../..")

layer(TestService.separate, { excludeTestServices: true })("examples/offline-product.ts", (it) => {
  it.effect(
    "works for a month without a network, within its allowance, and each line of what it brings back counts once",
    () =>
      Effect.gen(function* () {
        const service = yield* TestService
        const { token } = yield* service.tenant()
        const { code, output } = yield* Effect.promise(async () => {
          const child = spawn(process.execPath, ["examples/offline-product.ts"], {
            cwd: root,
            env: { ...process.env, KEYSHELF_URL: service.origins.core, KEYSHELF_TOKEN: token },
            stdio: ["ignore", "pipe", "pipe"],
          })
          const ended = new Promise<number | null>((done) => child.on("close", done))
          const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
          return { code: await ended, output: out + errors }
        })
        assert.strictEqual(code, 0, output)
        const made = Number(/31 days: (\d+) of 4464 exports made/.exec(output)?.[1])
        // 100 on each full day, and less on the two that it shares with the days before and after.
        assert.isAtLeast(made, 30 * 100)
        assert.isAtMost(made, 32 * 100)
        const lines = Number(/made, (\d+) lines/.exec(output)?.[1])
        const expected = [
          `31 days: ${made} of 4464 exports made, ${lines} lines in the ledger`,
          "From day 30 on, the product asked for a new bundle",
          "With the clock turned back by three days, the bundle is CLOCK_BEHIND",
          "After two more days, it is BUNDLE_EXPIRED",
          `Uploaded: ${lines} lines counted, 0 periods above the allowance`,
          `Uploaded again: 0 lines counted, ${lines} duplicates`,
          `The service has counted ${made} exports`,
          "The next bundle is VALID",
        ]
        assert.deepStrictEqual(output.trim().split("\n"), expected)
      }),
    120_000,
  )
})
