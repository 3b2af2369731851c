/** One burst of requests, told by a JSON line on standard input; answers its figures as JSON on standard output. */
import autocannon from "autocannon"
import { randomInt, randomUUID } from "node:crypto"
import { text } from "node:stream/consumers"

const {
  connections,
  kind,
  origin,
  prefix = "/api",
  rate,
  seconds,
  tokens,
  world,
} = JSON.parse(await text(process.stdin))

const headersOf = (token, type = "application/json") => ({ authorization: `Bearer ${token}`, "content-type": type })
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
  return {
    method,
    path,
    headers: headersOf(token, type),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
}

// What repeats is made before, some for each client: making thousands for each kept this process busy for a second of its
// burst. What must be new each time is made then.
const FRESH = new Set(["component", "usageEvents"])
const REPEATED = 100

let asked = 0
const latencies = []
const instance = autocannon({
  url: origin,
  connections,
  duration: seconds,
  ...(rate === undefined ? {} : { overallRate: rate }),
  // Whoever was idle while others were measured has to be compiled anew: that is not what a burst is about.
  warmup: { connections, duration: 1 },
  setupClient: (client) => {
    if (FRESH.has(kind)) {
      client.setRequests([
        { ...make(tokens[0]), setupRequest: (request) => ({ ...request, ...make(tokens[asked++ % tokens.length]) }) },
      ])
    } else {
      client.setRequests(Array.from({ length: REPEATED }, (_, n) => make(tokens[n % tokens.length])))
    }
  },
})
// The histogram of autocannon knows whole milliseconds only.
instance.on("response", (_client, _status, _bytes, milliseconds) => latencies.push(milliseconds))
const result = await instance
latencies.sort((a, b) => a - b)
const at = (part) => latencies[Math.floor(latencies.length * part)] ?? 0

process.stdout.write(
  JSON.stringify({
    perSecond: result["2xx"] / result.duration,
    p50: at(0.5),
    p99: at(0.99),
    failures: result.non2xx + result.errors + result.timeouts,
  }),
)
