/**
 * One burst of requests, told by a JSON line on standard input; answers its figures as JSON on standard output.
 *
 * By hand on sockets: it shares two cores with what it measures, and a client that builds and reads whole HTTP messages takes
 * as much of them as the server, which makes every server look alike.
 */
import { randomInt, randomUUID } from "node:crypto"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { open, requestBytes } from "../test/support/RawConnection.ts"

const {
  connections,
  kind,
  origins,
  prefix = "/api",
  rate,
  seconds,
  tokens,
  world,
} = JSON.parse(await text(process.stdin))

const any = (count) => 1 + randomInt(count)
const entitlements = (count) => Array.from({ length: count }, (_, n) => ({ entitlement: `entitlement-${n + 1}` }))

let made = 0
/** How each kind of request is made: `token` belongs to the organization whose things the path names. */
const kinds = {
  customer: () => ({ method: "GET", path: `${prefix}/customers/customer-${any(world.customers)}` }),
  entitlements: () => ({ method: "GET", path: `${prefix}/entitlements?limit=50` }),
  manifest: () => ({ method: "GET", path: `${prefix}/openfeature/v0/manifest` }),
  validate: () => ({ method: "GET", path: "/tokens/validate" }),
  check1: () => ({
    method: "POST",
    path: `${prefix}/instances/instance-${any(world.instances)}/check`,
    body: { checks: entitlements(1) },
  }),
  check10: () => ({
    method: "POST",
    path: `${prefix}/instances/instance-${any(world.instances)}/check`,
    body: { checks: entitlements(10) },
  }),
  consumeHot: () => ({
    method: "POST",
    path: `${prefix}/instances/instance-1/check`,
    body: { checks: entitlements(1), consume: true },
  }),
  consumeSpread: () => ({
    method: "POST",
    path: `${prefix}/instances/instance-${any(world.instances)}/check`,
    body: { checks: [{ entitlement: `entitlement-${any(10)}` }], consume: true },
  }),
  report: () => ({
    method: "POST",
    path: `${prefix}/instances/instance-${any(world.instances)}/entitlements/entitlement-${any(10)}/usage`,
    body: { value: 1 },
  }),
  component: () => ({
    method: "POST",
    path: `${prefix}/components`,
    body: { name: `part ${process.pid} ${Date.now().toString(36)}`, version: `${++made}` },
  }),
  usageEvents: () => ({
    method: "POST",
    path: `${prefix}/usage-events`,
    type: "application/cloudevents-batch+json",
    body: Array.from({ length: 500 }, () => ({
      specversion: "1.0",
      id: randomUUID(),
      source: "bench",
      type: `entitlement-${any(10)}`,
      subject: `instance-${any(world.instances)}`,
      data: { value: 1 },
    })),
  }),
}

const make = (token) => {
  const { body, method, path, type } = kinds[kind]()
  return requestBytes(method, path, token, body, type)
}

// What repeats is made before, some for each client: making thousands would keep this process busy for a part of its burst.
// What must be new each time is made then.
const FRESH = new Set(["component", "usageEvents"])
const REPEATED = 100

// By chance, not in turns: clients that are answered together would all ask for the same organization at the same time.
const fresh = () => make(tokens[randomInt(tokens.length)])

/** Requests of one client, the next with each call. */
const requests = () => {
  if (FRESH.has(kind)) return fresh
  const all = Array.from({ length: REPEATED }, fresh)
  let next = 0
  return () => all[next++ % REPEATED]
}

const clients = await Promise.all(
  Array.from({ length: connections }, async (_, n) => ({
    ...(await open(origins[n % origins.length])),
    next: requests(),
  })),
)

/** All clients for some seconds: as fast as they are answered, or each at its share of a rate. */
const burst = async (forSeconds) => {
  const latencies = []
  let failures = 0
  const begin = performance.now()
  const end = begin + forSeconds * 1000
  const pace = rate === undefined ? 0 : (connections / rate) * 1000
  await Promise.all(
    clients.map(async ({ next, send }, index) => {
      // With a pace, a request counts from when it was due: whoever is late has made somebody wait.
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
    answered: latencies.length + failures,
    perSecond: latencies.length / took,
    p50: at(0.5),
    p99: at(0.99),
    failures,
  }
}

// Whoever was idle while others were measured has to be compiled anew: that is not what a burst is about.
const first = await burst(1)
const result = await burst(seconds)
for (const { close } of clients) close()
process.stdout.write(JSON.stringify({ ...result, answered: first.answered + result.answered }))
