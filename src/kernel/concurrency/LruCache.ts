/** A cache of bounded size that evicts what was used least recently. */

/** Values by key. */
export interface LruCache<A> {
  readonly get: (key: string) => A | undefined
  readonly set: (key: string, value: A) => void
  readonly delete: (key: string) => void
}

/**
 * Makes a cache whose values have at most this total size. The most recently used half of it always stays. No value may be larger
 * than that half.
 *
 * It consists of two generations. When the younger is full it becomes the older one, and the previous older one is dropped. A single
 * map whose used entries move to its end would live long and change with each request: its old tables keep what was in them
 * (`src/kernel/concurrency/RequestBatcher.ts`).
 */
export const makeLruCache = <A>(maxSize: number, sizeOf: (value: A) => number): LruCache<A> => {
  let younger = new Map<string, A>()
  let older = new Map<string, A>()
  let youngerSize = 0

  const deleteFromYounger = (key: string): void => {
    const value = younger.get(key)
    if (value === undefined) return
    younger.delete(key)
    youngerSize -= sizeOf(value)
  }

  const set = (key: string, value: A): void => {
    deleteFromYounger(key)
    const size = sizeOf(value)
    if (youngerSize + size > maxSize / 2) {
      older = younger
      younger = new Map()
      youngerSize = 0
    }
    younger.set(key, value)
    youngerSize += size
  }

  return {
    get: (key) => {
      const value = younger.get(key)
      if (value !== undefined) return value
      const old = older.get(key)
      if (old !== undefined) set(key, old)
      return old
    },
    set,
    delete: (key) => {
      deleteFromYounger(key)
      older.delete(key)
    },
  }
}
