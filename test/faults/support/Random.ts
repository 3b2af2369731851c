/** Seeded random generator. */

/** Random values that are determined by a seed. */
export interface Random {
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number
  /** From `low` to `high`. */
  readonly between: (low: number, high: number) => number
  readonly pick: <A>(list: readonly [A, ...ReadonlyArray<A>]) => A
}

/** Mulberry32: small, and random enough to choose times and victims. */
export const random = (seed: number): Random => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    pick: (list) => list[Math.floor(next() * list.length)] ?? list[0],
  }
}
