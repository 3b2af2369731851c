import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeLruCache } from "../../src/kernel/concurrency/LruCache.ts"

const MAX_SIZE = 20
const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"] as const
const Use = Schema.Struct({
  name: Schema.Literals(names),
  kind: Schema.Literals(["get", "set", "set", "delete"]),
  size: Schema.Literals([1, 2, 5, 9]),
})
const uses = Schema.Array(Use).check(Schema.isMinLength(40))

interface Value {
  readonly size: number
}

/** Applies the operations to a cache and to a plain map, and compares them. */
const applied = (used: ReadonlyArray<typeof Use.Type>) => {
  const cache = makeLruCache<Value>(MAX_SIZE, ({ size }) => size)
  const expected = new Map<string, Value>()
  for (const { kind, name, size } of used) {
    if (kind === "set") {
      const value = { size }
      cache.set(name, value)
      expected.set(name, value)
      assert.strictEqual(cache.get(name), value)
    } else if (kind === "delete") {
      cache.delete(name)
      expected.delete(name)
      assert.isUndefined(cache.get(name))
    } else {
      const found = cache.get(name)
      if (found !== undefined) assert.strictEqual(found, expected.get(name))
    }
  }
  return { cache, expected }
}

describe("a cache of recently used values", () => {
  it.prop("returns the last value of a key, and never exceeds its maximum size", { used: uses }, ({ used }) => {
    const { cache, expected } = applied(used)
    const sizes = names.flatMap((name) => {
      const found = cache.get(name)
      assert.include([undefined, expected.get(name)], found)
      return found === undefined ? [] : [found.size]
    })
    assert.isAtMost(
      sizes.reduce((sum, size) => sum + size, 0),
      MAX_SIZE,
    )
  })

  it.prop("retains the most recently used values up to half of its size", { used: uses }, ({ used }) => {
    const { cache, expected } = applied(used)
    let size = 0
    const recentlyUsed = [...expected].flatMap(([name, value]) => {
      size += value.size
      if (size > MAX_SIZE / 2) return []
      if (cache.get(name) === undefined) cache.set(name, value)
      return [[name, value] as const]
    })
    // Setting one of them repeatedly must not evict the others.
    for (const [name, value] of recentlyUsed.slice(0, 1)) {
      for (let times = 0; times < MAX_SIZE; times++) cache.set(name, value)
    }
    for (const [name, value] of recentlyUsed) assert.strictEqual(cache.get(name), value)
  })
})
