/** A memory of bounded size for what is asked for again and again. */

/** Things by their names, those that were used lately. */
export interface LruCache<A> {
  readonly get: (name: string) => A | undefined
  readonly set: (name: string, thing: A) => void
  readonly delete: (name: string) => void
}

/**
 * Keeps things of at most this size together, and of those that were used last always half of it. None may be larger than that half.
 *
 * In two maps, not in one whose entries go to its end whenever they are used: when the younger is full it becomes the older one, and
 * what nobody has used since then goes with the one before. A map that lives long and changes with each request leaves tables
 * behind, which keep what was in them (`src/kernel/concurrency/RequestBatcher.ts`).
 */
export const makeLruCache = <A>(most: number, sizeOf: (thing: A) => number): LruCache<A> => {
  let younger = new Map<string, A>()
  let older = new Map<string, A>()
  let size = 0

  const takeOut = (name: string): void => {
    const thing = younger.get(name)
    if (thing === undefined) return
    younger.delete(name)
    size -= sizeOf(thing)
  }

  const set = (name: string, thing: A): void => {
    takeOut(name)
    const own = sizeOf(thing)
    if (size + own > most / 2) {
      older = younger
      younger = new Map()
      size = 0
    }
    younger.set(name, thing)
    size += own
  }

  return {
    get: (name) => {
      const found = younger.get(name)
      if (found !== undefined) return found
      const again = older.get(name)
      if (again !== undefined) set(name, again)
      return again
    },
    set,
    delete: (name) => {
      takeOut(name)
      older.delete(name)
    },
  }
}
