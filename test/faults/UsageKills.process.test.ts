import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bounded } from "./support/bounded.ts"

describe("uses of a hard limit through two nodes that are killed in turns", { timeout: 180_000 }, () => {
  it.live("retries on the other node never pass the cap, lose nothing and count nothing twice", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("cap", 8)
      assert.isAtLeast(Number(figures["kills"]), 2)
      assert.isAbove(Number(figures["retried"]), 10)
      assert.isAbove(Number(figures["acknowledged"]), 50)
      assert.isAtLeast(Number(figures["full instances"]), 1)
    }),
  )
})
