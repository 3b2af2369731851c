/** The work that checking values may take: a tank that each step empties a little, so that no schema is slow. Pure. */

/** Steps of one write. A step is a microsecond or less, whatever the schema. */
export const WORK = 100_000

/** Thrown out of a check that takes more work than it may; never leaves `validate`. */
export class TooMuchWork extends Error {}

/** The work that is left, shared by all values of one write. */
export class Work {
  #left: number
  readonly #prepared = new Set<unknown>()

  constructor(steps = WORK) {
    this.#left = steps
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new TooMuchWork()
  }

  /** Work that is done once for a thing, e.g. compiling a pattern: counted even where a cache saved it. */
  spendOnce(thing: unknown, steps: number): void {
    if (this.#prepared.has(thing)) return
    this.#prepared.add(thing)
    this.spend(steps)
  }
}
