/** The budget of a validation, which bounds its time for every schema. Pure. */

/** The number of steps for one write. A step takes at most about a microsecond. */
const MAX_STEPS = 100_000

/** Thrown when a validation exceeds its budget. `validate` catches it. */
export class BudgetExceeded extends Error {}

/** The remaining budget, shared by all values of one write. */
export class Budget {
  #remaining: number
  readonly #spentOn = new Set<unknown>()

  constructor(steps = MAX_STEPS) {
    this.#remaining = steps
  }

  spend(steps: number): void {
    this.#remaining -= steps
    if (this.#remaining < 0) throw new BudgetExceeded()
  }

  /** Spends steps once per object, e.g. for compiling a pattern. They count even if a cache avoids the work. */
  spendOnce(object: unknown, steps: number): void {
    if (this.#spentOn.has(object)) return
    this.#spentOn.add(object)
    this.spend(steps)
  }
}
