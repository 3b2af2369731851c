/**
 * `npm run bench -- --only streams`: 10,000 idle streams of changes. It measures what each takes in memory, and how long a change of all
 * of them takes until the last client has its frame. The streams are license keys of ten organizations: beyond 1,000 of one
 * organization, frames leave in portions by design.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { changeClients } from "../test/support/changeStreams.ts"
import { memoryOf } from "./processes.ts"
import { median } from "./report.ts"
import { call, databaseOf, databaseServer, prepare, scales, startKeyshelf } from "./world.ts"

const ORGANIZATIONS = 10
const STREAMS_EACH = 1000
const STREAMS = ORGANIZATIONS * STREAMS_EACH
const ROUNDS = 7
const TARGET_BYTES = 20 * 1024
const TARGET_MS = 250

const settled = () => sleep(5000)

/** Measures, prints, and returns whether the targets are met. */
export const measure = async (): Promise<boolean> => {
  const server = await databaseServer()
  const url = await databaseOf(server.url, "small", scales.small)
  const site = await startKeyshelf(url, { SERVICE_CHANGE_STREAMS: String(2 * STREAMS) })
  const core = `${site.origins.core}/api`
  const tokens = await prepare(site, ORGANIZATIONS)
  const keys = await Promise.all(
    tokens.map(async (token) => {
      const { items } = await call("GET", `${core}/instances?limit=1`, token)
      const key = await call("POST", `${core}/instances/${items[0].slug}/keys`, token, {
        name: `bench ${process.pid} ${Date.now()}`,
        scopes: ["read:instances"],
      })
      return String(key.token)
    }),
  )
  const change = (round: number) => () =>
    Promise.all(
      tokens.map((token) =>
        call("POST", `${core}/entitlements`, token, {
          name: `Streams ${process.pid} ${Date.now()} ${round}`,
          type: "BOOLEAN",
        }),
      ),
    )
  const residentBytes = () => (memoryOf(site.process.pid) ?? Number.NaN) * 1024 * 1024

  // The first streams pay for compilation and for the heap that they leave.
  const first = changeClients(site.origins.core)
  for (const key of keys) await first.open(key, STREAMS_EACH / 10)
  await first.framesOf(change(-1), STREAMS / 10)
  await settled()
  const before = residentBytes()
  const clients = changeClients(site.origins.core)
  const begin = performance.now()
  for (const key of keys) await clients.open(key, STREAMS_EACH)
  const openedIn = performance.now() - begin
  first.close()
  await settled()
  const bytesEach = (residentBytes() - before) / (STREAMS - STREAMS / 10)
  const times: Array<number> = []
  for (let round = 0; round < ROUNDS; round++) {
    times.push(await clients.framesOf(change(round), STREAMS))
    // The allowance of each organization is full again after a second.
    await sleep(1500)
  }
  console.log(`| What | Measured | Target |\n|---|---|---|`)
  console.log(
    `| memory of an idle stream, of ${STREAMS} | ${(bytesEach / 1024).toFixed(1)} KiB | ${TARGET_BYTES / 1024} KiB |`,
  )
  console.log(
    `| a frame to ${STREAMS} streams, from the change to the last client | ${Math.round(median(times))} ms (${Math.round(Math.min(...times))} to ${Math.round(Math.max(...times))}) | ${TARGET_MS} ms |`,
  )
  console.log(`| streams opened per second | ${Math.round((STREAMS / openedIn) * 1000)} | |`)
  const stopping = performance.now()
  await Promise.all([site.stop(), clients.ended()])
  console.log(`| stop of the node, with all streams | ${Math.round(performance.now() - stopping)} ms | |`)
  await server.close()
  return bytesEach <= TARGET_BYTES && median(times) <= TARGET_MS
}
