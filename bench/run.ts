/**
 * `npm run bench`: builds its database, starts the service and its comparators, and measures them interleaved.
 *
 * Options: `--rounds 5`, `--seconds 4`, `--scale full|small|vast`, `--only <part of an operation's name>` (`local`: decisions at a product, instead of all else), `--citus` (a plain server
 * against a cluster, instead of all else), `--sealing` (what sealing costs, instead of all else), `--write` (stores the tables in RESULTS.md, for complete runs only).
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { measure as measureDispatch } from "./dispatch.ts"
import * as pgbench from "./pgbench.ts"
import { burstAt, inRounds } from "./burst.ts"
import type { Aim, Load } from "./burst.ts"
import { measureNeighbours, namesOfNeighbours } from "./latency/neighbours.ts"
import { measureRates, namesOfRates } from "./latency/rates.ts"
import { operations, SHARE_OF_SLOW_NODE } from "./plan.ts"
import type { Contender, Operation } from "./plan.ts"
import { limitTo, memoryOf } from "./processes.ts"
import * as report from "./report.ts"
import { databaseOf, databaseServer, prepare, scales, startComparator, startKeyshelf } from "./world.ts"
import type { Site } from "./world.ts"

const here = import.meta.dirname

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string" },
    seconds: { type: "string", default: "4" },
    scale: { type: "string", default: "full" },
    only: { type: "string", default: "" },
    citus: { type: "boolean", default: false },
    sealing: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
})
// A part of a run would replace the complete results of this machine.
if (options.write && (options.only !== "" || options.scale !== "full" || options.citus || options.sealing)) {
  console.error("--write stores complete runs only: leave out --only, --scale, --citus and --sealing, or --write.")
  process.exit(1)
}
const rounds = Number(options.rounds ?? 5)
// A round of all neighbours takes more than a minute.
const roundsOfNeighbours = Number(options.rounds ?? 3)
const seconds = Number(options.seconds)
if (options.citus) {
  const { compare } = await import("./citus.ts")
  await compare({ rounds, seconds, only: options.only })
  process.exit()
}
if (options.sealing) {
  const { compare } = await import("./sealing.ts")
  await compare({ rounds, seconds })
  process.exit()
}
if (options.only === "streams") {
  const { measure } = await import("./streams.ts")
  process.exit((await measure()) ? 0 : 1)
}
if (options.only === "local") {
  const { measure } = await import("./local.ts")
  await measure()
  process.exit()
}
const scaleName = options.scale === "small" || options.scale === "vast" ? options.scale : "full"
const scale = scales[scaleName]
/** The database with less usage, for the cost of growth. */
const smallName = scaleName === "vast" ? "million" : "small"
const smallScale = scales[smallName]

const server = await databaseServer()
console.error("Preparing the database; the first time takes some minutes.")
const url = await databaseOf(server.url, scaleName, scale)
/** The servers of each contender; none if it cannot run here. */
const sites = new Map<Contender, ReadonlyArray<Site>>()
const contenders: ReadonlyArray<Contender> = ["keyshelf", "fastify", "fastify-unnamed", "floor"]
for (const contender of contenders) {
  sites.set(contender, [contender === "keyshelf" ? await startKeyshelf(url) : await startComparator(contender, url)])
}
const siteOf = (contender: Contender): Site => {
  const [site] = sites.get(contender) ?? []
  if (site === undefined) throw new Error(`${contender} is not running`)
  return site
}
const keyshelf = siteOf("keyshelf")
const tokens = await prepare(keyshelf, 8)
const measured = operations.filter(({ name }) => name.includes(options.only))
const measuresLatency = [...namesOfRates, ...namesOfNeighbours].some((name) => name.includes(options.only))
const isWanted = (contender: Contender) =>
  (measuresLatency && (contender === "keyshelf" || contender === "fastify")) ||
  measured.some(({ ways }) => Object.values(ways).some(({ by }) => by === contender))
let smallTokens: ReadonlyArray<string> = []
if (scaleName !== "small" && isWanted("keyshelf-small")) {
  const small = await startKeyshelf(await databaseOf(server.url, smallName, smallScale))
  sites.set("keyshelf-small", [small])
  smallTokens = await prepare(small, 8)
}

const aimAt = (contender: Contender): Aim => {
  const isSmall = contender === "keyshelf-small"
  return {
    servers: sites.get(contender) ?? [],
    url,
    tokens: isSmall ? smallTokens : tokens,
    world: isSmall ? smallScale : scale,
  }
}
const load: Load = (way, connections, forSeconds, rate) => {
  if (way.by === "pgbench") {
    return pgbench.available ? pgbench.burst(url, way.load, forSeconds, scale.customers) : undefined
  }
  return burstAt(aimAt(way.by), way, connections, forSeconds, rate)
}

if (isWanted("slow-nodes")) {
  const one = await startKeyshelf(url, { SERVICE_ROLES: "core" })
  const two = await startKeyshelf(url, { SERVICE_ROLES: "core" })
  sites.set("slow-node", [one]).set("slow-nodes", [one, two])
  // Warm up before the limit applies: with so little of a core, compilation would take most of the measurement.
  for (const { connections, ways } of measured) {
    for (const way of Object.values(ways).filter(({ by }) => by === "slow-nodes")) await load(way, connections, 4)
  }
  if (![one, two].every((node) => limitTo(SHARE_OF_SLOW_NODE, node.process.pid))) {
    sites.delete("slow-node")
    sites.delete("slow-nodes")
    console.error(
      "Skipped two nodes: this system cannot limit the processor time of a process (Linux control groups, as root).",
    )
    await Promise.all([one.stop(), two.stop()])
  }
}
const idleMemory = memoryOf(keyshelf.process.pid)

interface Request {
  readonly path: string
  readonly body?: string
  /** Properties that differ between responses. */
  readonly changing?: ReadonlyArray<string>
}

const requests: ReadonlyArray<Request> = [
  { path: "/api/customers/customer-1" },
  { path: "/api/entitlements?limit=50" },
  { path: "/api/openfeature/v0/manifest" },
  {
    path: "/api/instances/instance-1/check",
    body: JSON.stringify({ checks: [{ entitlement: "entitlement-1" }, { entitlement: "none" }] }),
  },
  {
    path: "/api/instances/instance-1/check",
    body: JSON.stringify({ checks: [{ entitlement: "entitlement-1" }], consume: true }),
    changing: ["usage", "remaining"],
  },
  {
    path: "/api/instances/instance-1/entitlements/entitlement-1/usage",
    body: JSON.stringify({ value: 1 }),
    changing: ["usageValue"],
  },
]

/** Fails unless all contenders return the same response to the same request: otherwise they do different work. */
const compareResponses = async () => {
  for (const { body, changing = [], path } of requests) {
    const responses = await Promise.all(
      contenders.map(async (contender) => {
        const response = await fetch(siteOf(contender).origins.core + path, {
          headers: { authorization: `Bearer ${tokens[0]}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { method: "POST", body }),
        })
        const content = (await response.json()) as { readonly at?: string; readonly nextCursor?: string }
        const { at: _at, nextCursor: _cursor, ...rest } = content
        return JSON.stringify(sorted(rest, changing))
      }),
    )
    if (new Set(responses).size !== 1)
      throw new Error(`The contenders return different responses to ${path}:\n${responses.join("\n")}`)
  }
}

const sorted = (value: unknown, changing: ReadonlyArray<string>): unknown => {
  if (Array.isArray(value)) return value.map((item) => sorted(item, changing))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, property]) => [key, changing.includes(key) ? "differs" : sorted(property, changing)]),
  )
}

await compareResponses()

// Warm up: a new process compiles for some ten seconds, which would slow down the first operation.
for (const by of contenders.filter(isWanted)) await load({ by, load: "customer" }, 32, 10)

const sections: Array<string> = [report.heading({ rounds, seconds, scale: scaleName })]
for (const operation of measured) {
  const results = await inRounds(operation, { load, rounds, seconds })
  const section = report.section(operation, results)
  console.log(`${section}\n`)
  sections.push(section)
}

const dispatch: Operation = {
  name: "webhook dispatch, 40 endpoints of one receiver",
  connections: 64,
  ways: {},
  targets: [
    { of: "keyshelf", to: "pg-boss", must: 1, aim: 2 },
    { of: "keyshelf", to: "graphile-worker", must: 1, aim: 2 },
  ],
}
if (dispatch.name.includes(options.only)) {
  const [token = ""] = tokens
  const services = { keyshelf: { url, site: keyshelf, tokens: [token] } }
  const results = await measureDispatch({ services, queues: url, rounds, jobs: 4000 * seconds })
  const section = report.section(dispatch, results)
  console.log(`${section}\n`)
  sections.push(section)
}

const latency = [
  ...(await measureRates(
    { keyshelf: aimAt("keyshelf"), fastify: aimAt("fastify") },
    { only: options.only, rounds, seconds },
  )),
  ...(await measureNeighbours(aimAt("keyshelf"), { only: options.only, rounds: roundsOfNeighbours, seconds })),
]
sections.push(...latency)

const memory = report.figures("Memory and start", [
  ["start to ready, node alone", `${Math.round(keyshelf.startedInMillis)} ms`],
  ["idle", `${idleMemory ?? "?"} MiB`],
  ["after the load", `${memoryOf(keyshelf.process.pid) ?? "?"} MiB`],
  ["fastify after the load", `${memoryOf(siteOf("fastify").process.pid) ?? "?"} MiB`],
])
console.log(memory)
sections.push(memory)

await Promise.all([...new Set([...sites.values()].flat())].map((site) => site.stop()))
await server.close()

if (options.write) {
  const file = join(here, "RESULTS.md")
  writeFileSync(file, report.withRun(readFileSync(file, "utf8"), sections.join("\n\n")))
}
