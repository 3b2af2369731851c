/** A cache of bounded size that evicts the least recently used entries. */

/** Recently used values by key. */
interface LruCache<A> {
  readonly get: (key: string) => A | undefined
  readonly set: (key: string, value: A) => void
  readonly delete: (key: string) => void
}

/**
 * Creates a cache with a maximum total size. The most recently used values up to half of it are always retained, so no
 * value may be larger than that half.
 *
 * It uses two generations: when the young map is full, it becomes the old one, and the previous old map is dropped. A
 * single long-lived map that changes with every request would leak its old hash tables
 * (`src/kernel/concurrency/RequestBatcher.ts`).
 */
export const makeLruCache = <A>(maxSize: number, sizeOf: (value: A) => number): LruCache<A> => {
  let young = new Map<string, A>()
  let old = new Map<string, A>()
  let size = 0

  const deleteYoung = (key: string): void => {
    const value = young.get(key)
    if (value === undefined) return
    young.delete(key)
    size -= sizeOf(value)
  }

  const set = (key: string, value: A): void => {
    deleteYoung(key)
    const valueSize = sizeOf(value)
    if (size + valueSize > maxSize / 2) {
      old = young
      young = new Map()
      size = 0
    }
    young.set(key, value)
    size += valueSize
  }

  return {
    get: (key) => {
      const value = young.get(key)
      if (value !== undefined) return value
      const oldValue = old.get(key)
      if (oldValue !== undefined) set(key, oldValue)
      return oldValue
    },
    set,
    delete: (key) => {
      deleteYoung(key)
      old.delete(key)
    },
  }
}
