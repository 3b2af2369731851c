import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { whyNoPgBouncer } from "../support/PgBouncer.ts"
import { bounded } from "./support/bounded.ts"

describe("webhook deliveries of two nodes under load", { timeout: 180_000 }, () => {
  it.live("killed nodes lose no event, and repeat one only if its lease was open", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("kills", 8)
      assert.isAtLeast(Number(figures["kills"]), 2)
      assert.isAbove(Number(figures["writes ok"]), 50)
    }),
  )

  it.live(
    `a node behind a pooler takes over from a killed one within 10 s, and not from a suspended one${
      whyNoPgBouncer === undefined ? "" : ` (without PgBouncer: ${whyNoPgBouncer})`
    }`,
    () => bounded("poolers", 0),
  )

  it.live("terminated database connections lose and repeat no event", () =>
    Effect.gen(function* () {
      const figures = yield* bounded("terminations", 5)
      assert.isAtLeast(Number(figures["terminated"]), 5)
      assert.isAbove(Number(figures["writes ok"]), 50)
      assert.strictEqual(figures["duplicates"], 0)
    }),
  )
})
