import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bounded } from "./support/bounded.ts"

describe("deliveries of two nodes under load", { timeout: 180_000 }, () => {
  it.live("survive that nodes are killed: each event comes, and again only if its lease was open at a kill", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("kills", 8)
      assert.isAtLeast(Number(figures["kills"]), 2)
      assert.isAbove(Number(figures["writes ok"]), 50)
    }),
  )

  it.live("survive that connections to the database are terminated, without sending anything twice", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("terminations", 5)
      assert.isAtLeast(Number(figures["terminated"]), 5)
      assert.isAbove(Number(figures["writes ok"]), 50)
      assert.strictEqual(figures["came twice"], 0)
    }),
  )
})
