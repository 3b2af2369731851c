/**
 * How old something is, by both clocks of a machine. The monotonic one may stop while the machine sleeps, the other one may
 * be set: neither is enough alone.
 */

/** What both clocks show, in milliseconds. */
interface Reading {
  /** Since 1970. */
  readonly wall: number
  readonly monotonic: number
}

/** Reads the clocks. */
export const readClocks = (): Reading => ({ wall: Date.now(), monotonic: performance.now() })

/** The time since a reading, by the clock that shows more. */
export const elapsedMs = (since: Reading, now: Reading): number =>
  Math.max(0, now.wall - since.wall, now.monotonic - since.monotonic)
