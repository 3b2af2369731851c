/**
 * Sends one burst of requests, described by JSON on standard input. Prints its figures as JSON.
 *
 * It uses sockets directly because it shares two cores with the measured server. A full HTTP client takes as much processor time
 * as the server, which makes all servers look alike.
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

let created = 0
/** Builds a request of each kind. All organizations have the same slugs, so any token fits. */
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
    body: { name: `part ${process.pid} ${Date.now().toString(36)}`, version: `${++created}` },
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

const build = (token) => {
  const { body, method, path, type } = kinds[kind]()
  return requestBytes(method, path, token, body, type)
}

// Repeatable requests are built in advance, some for each client. Building thousands would take a part of the burst.
// Kinds that must differ each time are built when they are sent.
const FRESH = new Set(["component", "usageEvents"])
const REPEATED = 100

// Random, not round-robin: clients that get their responses at the same time would all use the same organization.
const fresh = () => build(tokens[randomInt(tokens.length)])

/** Returns a function that yields the next request of one client. */
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
