/** The clock and the timers of the runtime, in Node.js and in browsers. */
import type { Clock } from "../local/index.ts"

/** Timers of Node.js alone keep a process alive. */
const release = (timer: ReturnType<typeof setTimeout>): void => {
  const { unref } = timer as { readonly unref?: () => void }
  unref?.call(timer)
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  after: (millis, work) => {
    const timer = setTimeout(work, millis)
    release(timer)
    return () => clearTimeout(timer)
  },
}
