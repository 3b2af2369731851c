import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bounded } from "./support/bounded.ts"

describe("products that spend by themselves, with two nodes that are killed in turns", { timeout: 180_000 }, () => {
  it.live("never pass a limit together with what is held, reach it, and count each acknowledged unit once", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("tranches", 8)
      assert.isAtLeast(Number(figures["kills"]), 2)
      assert.isAbove(Number(figures["acknowledged"]), 100)
      assert.isAbove(Number(figures["refills"]), 20)
      assert.isAtLeast(Number(figures["full instances"]), 1)
    }),
  )

  it.live("lose no acknowledged unit if they are killed too", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("products", 12)
      assert.isAtLeast(Number(figures["killed products"]), 3)
      assert.isAbove(Number(figures["acknowledged"]), 100)
      assert.isAtLeast(Number(figures["full instances"]), 1)
    }),
  )
})
