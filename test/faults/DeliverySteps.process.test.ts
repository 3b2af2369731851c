import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bounded } from "./support/bounded.ts"

describe("an interrupted webhook delivery", { timeout: 180_000 }, () => {
  it.live(
    "a delivery interrupted at any step completes, on another node if necessary",
    // Longer limits leave time to interrupt exchanges in flight on a busy machine.
    () => bounded("steps", 0, { lease: 28_000, timeout: 8_000 }),
  )

  it.live("a receiver that hangs, drips, resets, floods or sends garbage gets the documented outcome", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("receivers", 0)
      assert.isAtLeast(Number(figures["reused connections: requests"]), 6)
    }),
  )

  it.live("a delivery without a signal is found by the next poll", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("signals", 4)
      assert.isAbove(Number(figures["writes ok"]), 30)
    }),
  )
})
