/** What a decision at a product costs: the client in this process, by a snapshot, without a service. */
import { createProductClient } from "../clients/typescript/src/product/node.ts"
import type { ProductClient } from "../clients/typescript/src/product/node.ts"
import { measureEdge } from "./edge.ts"
import { table } from "./report.ts"
import { makeSigner } from "./snapshots.ts"

const INSTANCE = "globex-prod"
const ENTITLEMENTS = 50
const FLAGS = 100
const WARM_UP = 20_000
const CALLS = 100_000

/** A client that has a snapshot of 50 entitlements and 100 flags, and whose stream is open. */
const clientWithSnapshot = async (): Promise<ProductClient> => {
  const { issuer, kid, snapshot, x } = makeSigner()
  const token = snapshot({
    instance: INSTANCE,
    id: "0198c2b0-5f3d-7d14-8f2e-7e0a4b9c1d33",
    entitlements: ENTITLEMENTS,
    flags: FLAGS,
  })
  const client = createProductClient({
    baseUrl: "http://keyshelf.test",
    token: "ksh_0123456789",
    keys: { [kid]: x },
    issuer,
    fetch: async (url) =>
      (url instanceof Request ? url.url : url.toString()).includes("/changes")
        ? new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } })
        : new Response(token, { headers: { "content-type": "application/jwt", etag: '"a.1"' } }),
  })
  await client.start(INSTANCE)
  const { source } = await client.check(INSTANCE, "sso")
  if (source !== "snapshot") throw new Error(`The snapshot does not answer, but ${source}`)
  return client
}

/** Percentiles of a call, in microseconds. */
const percentiles = async (call: (index: number) => Promise<unknown>, calls: number) => {
  for (let index = 0; index < WARM_UP; index++) await call(index)
  const times = new Float64Array(calls)
  for (let index = 0; index < calls; index++) {
    const before = performance.now()
    await call(index)
    times[index] = (performance.now() - before) * 1000
  }
  times.sort()
  const at = (part: number) => times[Math.floor(calls * part)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

/** Measures decisions in this process and at an edge, and prints tables. */
export const measure = async (): Promise<void> => {
  const client = await clientWithSnapshot()
  const slugs = (count: number, first: number) =>
    Array.from({ length: count }, (_, index) => `calls-${(first + index) % (ENTITLEMENTS - 1)}`)
  const context = (index: number) => ({ targetingKey: `user-${index % 1_000}`, country: "de" })
  const rows = [
    {
      what: "check of one entitlement",
      must: 20,
      ...(await percentiles((index) => client.check(INSTANCE, `calls-${index % 40}`), CALLS)),
    },
    {
      what: "check of ten entitlements",
      must: 100,
      ...(await percentiles((index) => client.checkAll(INSTANCE, slugs(10, index)), CALLS)),
    },
    {
      what: "one flag of 100",
      must: 100,
      ...(await percentiles(async (index) => (await client.flags(context(index))).boolean("flag-50", false), 20_000)),
    },
  ]
  const cells = rows.map(({ must, p50, p99, what }) => [
    what,
    p50.toFixed(1),
    p99.toFixed(1),
    `${must}: ${p99 <= must ? "reached" : "missed"}`,
  ])
  console.log(table(["In process, TypeScript", "p50, µs", "p99, µs", "must, µs"], cells))
  await client.close()
  await measureEdge()
}
