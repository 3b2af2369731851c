import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bounded } from "./support/bounded.ts"

describe("a delivery that breaks", { timeout: 180_000 }, () => {
  it.live(
    "is made by another node: killed at fan-out, claim, connection or exchange, or stopped past the lease; and ends if it was killed at the finish",
    // Time for what is done to an exchange that is under way, on a machine that is busy with others.
    () => bounded("steps", 0, { lease: 28_000, timeout: 8_000 }),
  )

  it.live("has its outcome from receivers that hang, drip, reset, pour or answer garbage", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("receivers", 0)
      assert.isAtLeast(Number(figures["kept connections: requests"]), 6)
    }),
  )

  it.live("waits for the next look where nothing is heard of it", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("signals", 4)
      assert.isAbove(Number(figures["writes ok"]), 30)
    }),
  )
})
