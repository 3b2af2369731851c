/** Keeps a process of Node.js alive while a call waits for work of the background. */

const LONG_MS = 1_000_000_000

/** Waits for work of the background, which keeps no process alive by itself. */
export const whileAlive = async <A>(work: Promise<A>): Promise<A> => {
  const timer = setInterval(() => undefined, LONG_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}
