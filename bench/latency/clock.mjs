/** The time of all threads of a process. `performance.now()` counts from the start of each. */

const READINGS = 100

/** Returns a function that reads the milliseconds since `origin`, a reading of `process.hrtime.bigint()`. */
export const clockFrom = (origin) => {
  // The thread may be interrupted between the two readings, so the closest ones count.
  let ahead = -Infinity
  for (let n = 0; n < READINGS; n++) {
    ahead = Math.max(ahead, Number(process.hrtime.bigint() - origin) / 1e6 - performance.now())
  }
  return () => performance.now() + ahead
}

/** The indexes of the numbers that the threads share. */
export const FREED = 0
export const WAITS = 1
export const NEVER = 2
/** Where the ring of free connections begins. It has place for all of them. */
export const RING = 3
