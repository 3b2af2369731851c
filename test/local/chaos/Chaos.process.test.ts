import { assert, describe, it } from "@effect/vitest"
import { play } from "./play.ts"
import { slugs } from "./product.ts"

const DAY = { products: 100, hours: 24, copies: false }

describe("products whose service, network and processes fail", () => {
  it(
    "count each acknowledged unit once in a day, never pass a limit, and see changes",
    { timeout: 300_000 },
    async () => {
      const { changes, counts, errors, lateChanges, model } = await play({ ...DAY, seed: 1 })
      assert.deepStrictEqual([counts.faults, errors], [[], []])
      assert.isAtMost(model.overrun(), 0)
      assert.strictEqual(model.facts(), 0)
      for (const slug of slugs) assert.strictEqual(model.usage(slug), counts.acknowledged.get(slug), slug)
      assert.isAbove(counts.consumed, 10_000)
      assert.isAbove(changes, 10)
      assert.strictEqual(lateChanges, 0)
    },
  )

  it("do the same in each run of a seed", { timeout: 120_000 }, async () => {
    const short = { products: 10, hours: 4, copies: true }
    const [first, second, other] = [
      await play({ ...short, seed: 7 }),
      await play({ ...short, seed: 7 }),
      await play({ ...short, seed: 8 }),
    ]
    assert.isAbove(first.events, 100)
    assert.strictEqual(first.trace, second.trace)
    assert.notStrictEqual(first.trace, other.trace)
  })

  it(
    "spend a tranche twice at most for each directory that is restored, and say so",
    { timeout: 300_000 },
    async () => {
      const { copied, counts, errors, model, rejected } = await play({ products: 30, hours: 12, copies: true, seed: 3 })
      assert.deepStrictEqual([counts.faults, errors], [[], []])
      assert.isAbove(copied, 10)
      assert.isAbove(rejected, 0)
      assert.isAtMost(rejected, copied)
      assert.isAbove(model.facts(), 0)
      assert.isAtMost(model.facts(), copied * model.largest())
      assert.isAtMost(model.overrun(), model.facts())
    },
  )
})
