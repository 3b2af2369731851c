import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeLruCache } from "../../src/kernel/concurrency/LruCache.ts"

const MOST = 20
const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"] as const
const Use = Schema.Struct({
  name: Schema.Literals(names),
  kind: Schema.Literals(["get", "set", "set", "delete"]),
  size: Schema.Literals([1, 2, 5, 9]),
})
const uses = Schema.Array(Use).check(Schema.isMinLength(40))

interface Thing {
  readonly size: number
}

/** What is known of the memory beside it: what was said last of each name. */
const play = (used: ReadonlyArray<typeof Use.Type>) => {
  const memory = makeLruCache<Thing>(MOST, ({ size }) => size)
  const last = new Map<string, Thing>()
  for (const { kind, name, size } of used) {
    if (kind === "set") {
      const thing = { size }
      memory.set(name, thing)
      last.set(name, thing)
      assert.strictEqual(memory.get(name), thing)
    } else if (kind === "delete") {
      memory.delete(name)
      last.delete(name)
      assert.isUndefined(memory.get(name))
    } else {
      const found = memory.get(name)
      if (found !== undefined) assert.strictEqual(found, last.get(name))
    }
  }
  return { memory, last }
}

describe("a memory of what was used lately", () => {
  it.prop("answers what was kept last under a name, and never keeps more than it may", { used: uses }, ({ used }) => {
    const { last, memory } = play(used)
    const kept = names.flatMap((name) => {
      const found = memory.get(name)
      assert.include([undefined, last.get(name)], found)
      return found === undefined ? [] : [found.size]
    })
    assert.isAtMost(
      kept.reduce((sum, size) => sum + size, 0),
      MOST,
    )
  })

  it.prop("forgets nothing of what was used last, up to half of its size", { used: uses }, ({ used }) => {
    const { last, memory } = play(used)
    let size = 0
    const again = [...last].flatMap(([name, thing]) => {
      size += thing.size
      if (size > MOST / 2) return []
      if (memory.get(name) === undefined) memory.set(name, thing)
      return [[name, thing] as const]
    })
    // However often one of them is kept anew.
    for (const [name, thing] of again.slice(0, 1)) {
      for (let times = 0; times < MOST; times++) memory.set(name, thing)
    }
    for (const [name, thing] of again) assert.strictEqual(memory.get(name), thing)
  })
})
