/** The requests that the benchmarks send, by kind. */
import { createHash, randomInt, randomUUID } from "node:crypto"
import { requestBytes } from "../test/support/RawConnection.ts"

const any = (count) => 1 + randomInt(count)
const entitlements = (count) => Array.from({ length: count }, (_, n) => ({ entitlement: `entitlement-${n + 1}` }))
const unknown = (count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]))

let created = 0
/** Builds a request of each kind. All organizations have the same slugs, so any token fits. */
const kindsOf = (prefix, world) => ({
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
  // What a neighbour of another organization sends (`latency/neighbours.ts`).
  events200: () => ({ method: "GET", path: `${prefix}/events?limit=200` }),
  instances200: () => ({ method: "GET", path: `${prefix}/instances?limit=200` }),
  customers200: () => ({ method: "GET", path: `${prefix}/customers?limit=200` }),
  entitlements200: () => ({ method: "GET", path: `${prefix}/entitlements?limit=200` }),
  refusal: () => ({ method: "POST", path: `${prefix}/components`, body: unknown(29_900) }),
  check50: () => ({
    method: "POST",
    path: `${prefix}/instances/instance-${any(world.instances)}/check`,
    body: { checks: entitlements(50) },
  }),
  consume50: () => ({
    method: "POST",
    path: `${prefix}/instances/instance-${any(world.instances)}/check`,
    body: { checks: entitlements(50), consume: true },
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
})

const sha256 = (text) => createHash("sha256").update(text).digest("base64url")

/** The refills of a product: each settles the line that it wrote since the last one. */
const refillsOf = (prefix, world, token) => {
  const source = `urn:keyshelf:ledger:${randomUUID()}`
  const [subject, type] = [`instance-${any(world.instances)}`, `entitlement-${any(10)}`]
  let number = 0
  let head = sha256(source)
  return () => {
    const line = JSON.stringify({
      specversion: "1.0",
      id: String(++number),
      source,
      subject,
      type,
      time: new Date().toISOString(),
      bundleid: "0198c2b1-1111-7000-8000-000000000007",
      prevhash: head,
      data: { value: 1 },
    })
    head = sha256(line)
    const tranches = [{ entitlement: type, keep: "9", need: "10", want: "10" }]
    return requestBytes("POST", `${prefix}/instances/${subject}/tranches`, token, { source, lines: [line], tranches })
  }
}

// Repeatable requests are built in advance, some for each client. Building thousands would take a part of the burst.
// Kinds that must differ each time are built when they are sent.
const FRESH = new Set(["component", "usageEvents"])
// All are the same, and some are long.
const SAME = new Set(["events200", "instances200", "customers200", "entitlements200", "refusal"])
const REPEATED = 100

/** Returns what makes a function for each client, which yields its next request. */
export const requestsOf = ({ kind, prefix = "/api", tokens, world }) => {
  if (kind === "refill") return () => refillsOf(prefix, world, tokens[randomInt(tokens.length)])
  const build = kindsOf(prefix, world)[kind]
  // Random, not round-robin: clients that get their responses at the same time would all use the same organization.
  const fresh = () => {
    const { body, method, path, type } = build()
    return requestBytes(method, path, tokens[randomInt(tokens.length)], body, type)
  }
  if (FRESH.has(kind)) return () => fresh
  const repeat = (all) => {
    let next = 0
    return () => all[next++ % all.length]
  }
  if (SAME.has(kind)) {
    const one = [fresh()]
    return () => repeat(one)
  }
  return () => repeat(Array.from({ length: REPEATED }, fresh))
}
