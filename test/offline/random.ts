/** A random generator with a seed, so that a failure can be repeated. */

export interface Random {
  /** A whole number from 0 to before a maximum. */
  readonly below: (maximum: number) => number
  readonly oneOf: <A>(list: ReadonlyArray<A>) => A
  /** True once in so many times. */
  readonly isOnceIn: (times: number) => boolean
}

/** Mulberry32. */
export const makeRandom = (seed: number): Random => {
  let state = seed
  const below = (maximum: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * maximum)
  }
  return { below, oneOf: (list) => list[below(list.length)] as never, isOnceIn: (times) => below(times) === 0 }
}
