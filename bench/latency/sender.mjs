/** The thread of `arrivals.mjs` that sends each request when it is due, on a connection that is free. */
import { writeSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { clockFrom, FREED, NEVER, RING, WAITS } from "./clock.mjs"

const now = clockFrom(workerData.started)

// Requests that are due within this time are sent together: sleeping between them would cost more than sending them.
const SHORT_MILLIS = 0.25

const send = ({ bytes, descriptors, dues, from, lengths, measuredFrom, rate, shared, to }) => {
  let end = 0
  const offsets = lengths.map((length) => (end += length) - length)
  let taken = 0
  /** Waits for a connection that is free. */
  const takeConnection = () => {
    for (;;) {
      const freed = Atomics.load(shared, FREED)
      if (freed > taken) return shared[RING + (taken++ % descriptors.length)]
      Atomics.store(shared, WAITS, 1)
      Atomics.wait(shared, FREED, freed)
      Atomics.store(shared, WAITS, 0)
    }
  }
  const lateness = []
  let sent = 0
  for (let due = from; ; sent++) {
    due -= (Math.log(1 - Math.random()) * 1000) / rate
    if (due >= to) break
    const early = due - now()
    if (early > SHORT_MILLIS) Atomics.wait(shared, NEVER, 0, early)
    const at = now()
    if (due >= measuredFrom) lateness.push(at - due)
    const connection = takeConnection()
    // One that is sent early counts from then on.
    dues[connection] = Math.min(due, at)
    const request = sent % lengths.length
    const length = lengths[request]
    if (writeSync(descriptors[connection], bytes, offsets[request], length) !== length) {
      throw new Error("A socket did not take a whole request")
    }
  }
  lateness.sort((a, b) => a - b)
  return { sent, lateness: lateness[Math.floor(lateness.length * 0.99)] ?? 0 }
}

// eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort.on("message", (plan) => parentPort.postMessage(send(plan)))
