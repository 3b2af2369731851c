/** What an edge costs: checks through it beside those at its origin, and the memory of 10,000 instances. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { burstAt } from "./burst.ts"
import { cores, freePorts, memoryOf, start } from "./processes.ts"
import { median, table } from "./report.ts"
import { makeSigner } from "./snapshots.ts"
import { databaseOf, databaseServer, prepare, scales, startKeyshelf } from "./world.ts"

const ROUNDS = 5
const SECONDS = 3
const CONNECTIONS = 32
const INSTANCES = 10_000
const OPENING_TOGETHER = 32
const TARGET_RATIO = 1.5
const TARGET_P99_MS = 2
const TARGET_MEBIBYTES = 150

interface EdgeOptions {
  readonly folder: string
  readonly origin: string
  readonly tokens: ReadonlyArray<string>
  readonly keys?: object
}

/** Starts an edge in a process of its own. */
const startEdge = async ({ folder, keys, origin, tokens }: EdgeOptions) => {
  const [port] = await freePorts(1)
  const file = join(folder, "tokens")
  await writeFile(file, tokens.join("\n"))
  await chmod(file, 0o600)
  const keySet = join(folder, "keys.json")
  if (keys !== undefined) await writeFile(keySet, JSON.stringify(keys))
  const flags = ["--origin", origin, "--tokens", file, "--directory", join(folder, "state"), "--port", String(port)]
  const running = await start(
    [
      join(import.meta.dirname, "../bin/keyshelf.mjs"),
      "edge",
      ...flags,
      ...(keys === undefined ? [] : ["--keys", keySet]),
    ],
    { env: {}, ready: /edge is ready/, core: cores.server },
  )
  return { ...running, url: `http://127.0.0.1:${port}` }
}

const reached = (isReached: boolean): string => (isReached ? "reached" : "missed")

/** Checks through an edge and at its origin, alternately. */
const measureSpeed = async (folder: string): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const server = await databaseServer()
  const scale = scales.small
  const url = await databaseOf(server.url, "small", scale)
  const site = await startKeyshelf(url)
  const tokens = await prepare(site, 1)
  const edge = await startEdge({ folder, origin: site.origins.core, tokens })
  const through = { ...site, ...edge, origins: { ...site.origins, core: edge.url } }
  const way = { by: "keyshelf", load: "check1" } as const
  const measure = (at: typeof site, rate?: number) =>
    burstAt({ servers: [at], tokens, url, world: scale }, way, CONNECTIONS, SECONDS, rate)
  const ratios: Array<number> = []
  const latencies: Array<number> = []
  // What is not compiled yet says nothing of a process that runs all day.
  for (const at of [site, through]) await measure(at)
  for (let round = 0; round < ROUNDS; round++) {
    const there = await measure(site)
    const here = await measure(through)
    const half = await measure(through, (here?.perSecond ?? 0) / 2)
    ratios.push((here?.perSecond ?? Number.NaN) / (there?.perSecond ?? Number.NaN))
    latencies.push(half?.p99 ?? Number.NaN)
  }
  await edge.stop()
  await site.stop()
  await server.close()
  const [ratio, p99] = [median(ratios), median(latencies)]
  return [
    ["check through the edge / at the origin", ratio.toFixed(2), `${TARGET_RATIO}: ${reached(ratio >= TARGET_RATIO)}`],
    [
      "p99 of a check through the edge, at half of its speed, ms",
      p99.toFixed(2),
      `${TARGET_P99_MS}: ${reached(p99 <= TARGET_P99_MS)}`,
    ],
  ]
}

/** The memory of instances with ten entitlements each, above that of an edge without any. */
const measureMemory = async (folder: string): Promise<ReadonlyArray<string>> => {
  const { kid, snapshot, x } = makeSigner()
  const origin = createServer((request, response) => {
    if (request.url?.startsWith("/api/changes") === true) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write('data: {"type":"open"}\n\n')
      const comments = setInterval(() => response.write(":\n\n"), 10_000)
      response.on("close", () => clearInterval(comments))
      return
    }
    const [, index] = /\/instances\/instance-(\d+)\/snapshot$/.exec(request.url ?? "") ?? []
    if (index === undefined) {
      response.writeHead(503).end()
      return
    }
    const id = `0198c2b0-5f3d-7d14-8f2e-${index.padStart(12, "0")}`
    response.writeHead(200, { "content-type": "application/jwt", etag: `"a.${index}"` })
    response.end(snapshot({ instance: `instance-${index}`, id, entitlements: 10, flags: 0 }))
  })
  await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve))
  const { port } = origin.address() as AddressInfo
  const keys = { keys: [{ kty: "OKP", crv: "Ed25519", kid, x }] }
  const edge = await startEdge({ folder, origin: `http://127.0.0.1:${port}`, tokens: ["ksh_bench"], keys })
  await sleep(2_000)
  const empty = memoryOf(edge.process.pid) ?? Number.NaN
  let next = 0
  const useSome = async () => {
    while (next < INSTANCES) {
      const response = await fetch(`${edge.url}/api/instances/instance-${next++}/check`, {
        method: "POST",
        headers: { authorization: "Bearer ksh_bench", "content-type": "application/json" },
        body: '{"checks":[{"entitlement":"calls-1"}]}',
      })
      if (response.status !== 200) throw new Error(`An instance was not served: ${await response.text()}`)
      await response.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: OPENING_TOGETHER }, useSome))
  await sleep(5_000)
  const used = (memoryOf(edge.process.pid) ?? Number.NaN) - empty
  await edge.stop()
  origin.closeAllConnections()
  origin.close()
  return [
    `memory of ${INSTANCES.toLocaleString("en")} instances, MiB`,
    used.toFixed(0),
    `${TARGET_MEBIBYTES}: ${reached(used <= TARGET_MEBIBYTES)}`,
  ]
}

/** Measures an edge, and prints a table. */
export const measureEdge = async (): Promise<void> => {
  const folders = await Promise.all([1, 2].map(() => mkdtemp(join(tmpdir(), "keyshelf-edge-"))))
  const [one = "", other = ""] = folders
  const memory = await measureMemory(one)
  console.log(table(["At an edge", "measured", "must"], [...(await measureSpeed(other)), memory]))
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
}
