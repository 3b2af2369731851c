/** A time of its own, random numbers of a seed, and hashes and signatures that other threads have no part in: a run repeats exactly. */
import { createHash } from "node:crypto"

/** Random numbers from 0 to 1 (mulberry32). */
export const randomOf = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Timer {
  readonly at: number
  readonly order: number
  work: (() => void) | undefined
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

/** Runs works at their times, one after the other. What a work begins is done before the next one. */
export interface Schedule {
  readonly now: () => number
  readonly after: (millis: number, work: () => void) => () => void
  readonly wait: (millis: number) => Promise<void>
  readonly runUntil: (end: number) => Promise<void>
}

const turn = () => new Promise<void>((done) => setImmediate(done))

export const makeSchedule = (): Schedule => {
  const heap: Array<Timer> = []
  let now = 0
  let order = 0

  const push = (timer: Timer): void => {
    let place = heap.push(timer) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = heap[parent] as Timer
      if (!isBefore(timer, above)) break
      heap[place] = above
      place = parent
    }
    heap[place] = timer
  }
  const pop = (): Timer => {
    const [first] = heap as [Timer]
    const last = heap.pop() as Timer
    if (heap.length > 0) {
      let place = 0
      for (;;) {
        let child = 2 * place + 1
        if (child >= heap.length) break
        if (child + 1 < heap.length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child++
        if (!isBefore(heap[child] as Timer, last)) break
        heap[place] = heap[child] as Timer
        place = child
      }
      heap[place] = last
    }
    return first
  }
  const after: Schedule["after"] = (millis, work) => {
    const timer: Timer = { at: now + Math.max(0, millis), order: order++, work }
    push(timer)
    return () => {
      timer.work = undefined
    }
  }
  return {
    now: () => now,
    after,
    wait: (millis) => new Promise((done) => void after(millis, done)),
    runUntil: async (end) => {
      while (heap[0] !== undefined && heap[0].at <= end) {
        const { at, work } = pop()
        if (work === undefined) continue
        now = at
        work()
        await turn()
      }
      now = end
    },
  }
}

const bytesOf = (data: ArrayBuffer | ArrayBufferView): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)

/** A signature of 64 bytes that only this run understands. */
export const signatureOf = (data: Uint8Array): Buffer =>
  createHash("sha512").update("a key of the test").update(data).digest()

/** Runs a test in which Web Crypto answers at once, and takes `signatureOf` for a signature. */
export const withFastCrypto = async <A>(test: () => Promise<A>): Promise<A> => {
  const { subtle } = globalThis.crypto
  const methods = {
    digest: async (_: string, data: Uint8Array) =>
      Uint8Array.from(createHash("sha256").update(bytesOf(data)).digest()).buffer,
    importKey: async () => ({}),
    verify: async (_: string, __: unknown, signature: Uint8Array, data: Uint8Array) =>
      signatureOf(bytesOf(data)).equals(bytesOf(signature)),
  }
  Object.assign(subtle, methods)
  try {
    return await test()
  } finally {
    for (const name of Object.keys(methods)) Reflect.deleteProperty(subtle, name)
  }
}
