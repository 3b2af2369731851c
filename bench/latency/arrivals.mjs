/**
 * Sends requests at times that do not depend on the responses (open loop): their intervals are exponential, as of many independent
 * callers. Reads plans from standard input, a line of JSON each, and prints the figures of each as a line of JSON. One process for all
 * plans, so that its code is compiled.
 *
 * The generator shares two cores with the server and must cost a tenth of it at most. Timers of Node.js have a resolution of a
 * millisecond, and spinning until a request is due would occupy a core. So a thread sleeps until the due time and writes to the
 * sockets itself (`sender.mjs`), and this one only reads the responses.
 */
import { connect } from "node:net"
import { createInterface } from "node:readline"
import { Worker } from "node:worker_threads"
import { requestsOf } from "../requests.mjs"
import { clockFrom, FREED, RING, WAITS } from "./clock.mjs"

const PREPARED = 2_000
const HEADER_END = Buffer.from("\r\n\r\n")
const LENGTH = Buffer.from("content-length: ")
const [CAPITAL_C, CAPITAL_L] = Buffer.from("CL")
const SMALL = 0x20
const ZERO = 48
const NINE = 57

/** The thread needs some time to begin. */
const BEFORE_MILLIS = 50

const started = process.hrtime.bigint()
const now = clockFrom(started)
const sender = new Worker(new URL("sender.mjs", import.meta.url), { workerData: { started } })
const buffer = Buffer.allocUnsafe(256 * 1024)

/** Reads the number of the header, which some servers write with capitals. */
const lengthIn = (bytes, end) => {
  let at = bytes.indexOf(LENGTH)
  if (at < 0 || at > end) {
    for (let n = 0; n < end; n++) if (bytes[n] === CAPITAL_C || bytes[n] === CAPITAL_L) bytes[n] |= SMALL
    at = bytes.indexOf(LENGTH)
    if (at < 0 || at > end) return 0
  }
  let length = 0
  for (let n = at + LENGTH.length; bytes[n] >= ZERO && bytes[n] <= NINE; n++) length = length * 10 + bytes[n] - ZERO
  return length
}

/** Opens a connection that calls back once a response is complete. */
const open = (origin, settle) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin)
    let remaining = 0
    let isSuccess = false
    const callback = (length) => {
      if (remaining === 0) {
        const end = buffer.subarray(0, length).indexOf(HEADER_END)
        isSuccess = buffer[9] === ZERO + 2
        remaining = lengthIn(buffer, end) - (length - end - HEADER_END.length)
      } else remaining -= length
      if (remaining === 0) settle(isSuccess)
      return true
    }
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread: { buffer, callback } })
    socket.once("connect", () => resolve(socket))
    socket.once("error", reject)
  })

/** The requests one after the other, in memory of all threads. */
const prepared = (plan) => {
  const next = requestsOf(plan)()
  const requests = Array.from({ length: PREPARED }, next)
  const lengths = requests.map(({ length }) => length)
  const bytes = Buffer.from(new SharedArrayBuffer(lengths.reduce((sum, length) => sum + length, 0)))
  let at = 0
  for (const request of requests) at += request.copy(bytes, at)
  return { bytes, lengths }
}

const run = async (plan) => {
  const { connections, origin, rate, seconds, warmUpSeconds } = plan
  const shared = new Int32Array(new SharedArrayBuffer(4 * (RING + connections)))
  /** When the request in flight on each connection was due. */
  const dues = new Float64Array(new SharedArrayBuffer(8 * connections))
  const latencies = new Float64Array(Math.ceil(rate * (seconds + warmUpSeconds) * 1.5) + 1000)
  let measuredFrom = 0
  let measured = 0
  let failures = 0
  let answered = 0
  let sent = Infinity
  let finish = () => {}
  const finished = new Promise((resolve) => (finish = resolve))

  const settle = (connection, isSuccess) => {
    const due = dues[connection]
    answered++
    if (!isSuccess) failures++
    else if (due >= measuredFrom) latencies[measured++] = now() - due
    const freed = Atomics.load(shared, FREED)
    shared[RING + (freed % connections)] = connection
    Atomics.store(shared, FREED, freed + 1)
    if (Atomics.load(shared, WAITS) === 1) Atomics.notify(shared, FREED)
    if (answered === sent) finish()
  }

  const sockets = await Promise.all(
    Array.from({ length: connections }, (_, connection) => open(origin, (isSuccess) => settle(connection, isSuccess))),
  )
  for (let connection = 0; connection < connections; connection++) shared[RING + connection] = connection
  Atomics.store(shared, FREED, connections)
  const requests = prepared(plan)
  const from = now() + BEFORE_MILLIS
  measuredFrom = from + warmUpSeconds * 1000
  const to = measuredFrom + seconds * 1000
  const descriptors = sockets.map((socket) => socket._handle.fd)
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  sender.postMessage({ ...requests, descriptors, dues, rate, shared, from, measuredFrom, to })
  const before = process.cpuUsage()
  const { lateness, ...outcome } = await new Promise((resolve) => sender.once("message", resolve))
  sent = outcome.sent
  if (answered < sent) await finished
  const { system, user } = process.cpuUsage(before)
  for (const socket of sockets) socket.destroy()

  const sorted = latencies.subarray(0, measured).sort()
  const at = (part) => sorted[Math.floor(sorted.length * part)] ?? 0
  return {
    responses: answered,
    perSecond: measured / seconds,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    p999: at(0.999),
    max: sorted.at(-1) ?? 0,
    failures,
    /** Microseconds of processor for each request, of this process. */
    generator: (user + system) / answered,
    /** How late a request was sent: its p99 in milliseconds. */
    lateness,
  }
}

console.log("ready")
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await run(JSON.parse(line))))
}
process.exit(0)
