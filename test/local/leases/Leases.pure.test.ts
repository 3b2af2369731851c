import { assert, describe, it } from "@effect/vitest"
import { playLeases } from "./play.ts"
import { leaseVectors, notApplied } from "./vectors.ts"

const applied = leaseVectors.filter(({ name }) => !notApplied.has(name))

describe("tranches as the credit leases of another product", () => {
  for (const vector of applied) {
    it(`${vector.name}: ${vector.description}`, async () => {
      assert.deepStrictEqual(
        await playLeases(vector),
        vector.operations.map(({ expect = {} }) => expect),
      )
    })
  }

  it("are 17 of the vectors; each other one has a reason why it does not apply", () => {
    const names = leaseVectors.map(({ name }) => name)
    assert.strictEqual(applied.length, 17)
    assert.deepStrictEqual(
      [...notApplied.keys()].filter((name) => !names.includes(name)),
      [],
    )
    assert.strictEqual(names.length, 17 + notApplied.size)
  })
})
