/**
 * Sends one burst of requests, described by JSON on standard input. Prints its figures as JSON.
 *
 * It uses sockets directly because it shares two cores with the measured server. A full HTTP client takes as much processor time
 * as the server, which makes all servers look alike.
 */
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { open } from "../test/support/RawConnection.ts"
import { requestsOf } from "./requests.mjs"

const { connections, kind, origins, prefix, rate, seconds, tokens, world } = JSON.parse(await text(process.stdin))

const clientRequests = requestsOf({ kind, prefix, tokens, world })

const clients = await Promise.all(
  Array.from({ length: connections }, async (_, n) => ({
    ...(await open(origins[n % origins.length])),
    next: clientRequests(),
  })),
)

/** Runs all clients for some seconds: at full speed, or each at its share of the rate. */
const burst = async (forSeconds) => {
  const latencies = []
  let failures = 0
  const begin = performance.now()
  const end = begin + forSeconds * 1000
  const pace = rate === undefined ? 0 : (connections / rate) * 1000
  await Promise.all(
    clients.map(async ({ next, send }, index) => {
      // With a rate, latency counts from the due time, so that a late request includes its delay.
      let due = begin + (pace * index) / connections
      for (;;) {
        const early = due - performance.now()
        if (pace > 0 && early > 1) await sleep(early)
        const from = pace > 0 ? due : performance.now()
        if (from >= end) return
        const status = await send(next()).catch(() => 0)
        if (status < 200 || status > 299) failures++
        else latencies.push(performance.now() - from)
        if (status === 0) return
        due += pace
      }
    }),
  )
  const took = (performance.now() - begin) / 1000
  latencies.sort((a, b) => a - b)
  const at = (part) => latencies[Math.floor(latencies.length * part)] ?? 0
  return {
    responses: latencies.length + failures,
    perSecond: latencies.length / took,
    p50: at(0.5),
    p99: at(0.99),
    failures,
  }
}

// Warm up: a server that was idle while others were measured may have to compile again.
const warmup = await burst(1)
const result = await burst(seconds)
for (const { close } of clients) close()
process.stdout.write(JSON.stringify({ ...result, responses: warmup.responses + result.responses }))
