/**
 * How old something is, by both clocks of a machine. The monotonic one may stop while the machine sleeps, the other one may
 * be set: neither is enough alone.
 */

/** What both clocks show, in milliseconds. */
export interface Reading {
  /** Since 1970. */
  readonly wall: number
  readonly monotonic: number
}

/** Reads the clocks. */
export const readClocks = (): Reading => ({ wall: Date.now(), monotonic: performance.now() })

/** The time since a reading, by the clock that shows more. */
export const elapsedMs = (since: Reading, now: Reading): number =>
  Math.max(0, now.wall - since.wall, now.monotonic - since.monotonic)

/**
 * The age of an answer. It is unlimited if the clock was set back to before the answer: it is not known then how long the machine
 * slept, and setting the clock must not keep an answer alive.
 */
export const ageMs = (since: Reading, now: Reading): number =>
  now.wall < since.wall ? Infinity : elapsedMs(since, now)
