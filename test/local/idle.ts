/** Waits until the work that a client has begun is done, without waiting for a time. */

const calls = { running: 0 }

const METHODS = ["importKey", "verify"] as const

const turn = () => new Promise<void>((done) => setImmediate(done))

/** Resolves when nothing is left to do but what waits for the script. */
export const isIdle = async (): Promise<void> => {
  do await turn()
  while (calls.running > 0)
  await turn()
}

/** Runs a test while the calls of Web Crypto that are in flight are counted: other threads do them. */
export const whileCounting = async <A>(test: () => Promise<A>): Promise<A> => {
  const { subtle } = globalThis.crypto
  for (const name of METHODS) {
    const call = (subtle[name] as (...args: ReadonlyArray<unknown>) => Promise<unknown>).bind(subtle)
    const counted = (...args: ReadonlyArray<unknown>) => {
      calls.running++
      return call(...args).finally(() => calls.running--)
    }
    Object.assign(subtle, { [name]: counted })
  }
  try {
    return await test()
  } finally {
    for (const name of METHODS) Reflect.deleteProperty(subtle, name)
  }
}
