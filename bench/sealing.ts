/**
 * `npm run bench -- --sealing`: what placing and sealing cost. The same creates, alternately, on two databases of one PostgreSQL: for one of
 * them a second process of the role `sweeper` places and seals all events; for the other one none does. The processor time is that of
 * the services and of all processes of PostgreSQL for each create, until all events are sealed and the new rows are vacuumed.
 */
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { plainServer } from "../test/support/CitusCluster.ts"
import { burstAt } from "./burst.ts"
import { processorTimeOf, run } from "./processes.ts"
import type { Running } from "./processes.ts"
import { fill, prepare, scales, startKeyshelf } from "./world.ts"

type Numbers = Readonly<Record<string, number>>

/** What is used of the client of `bench/package.json`, whose types are not installed with the service. */
interface Client {
  readonly connect: () => Promise<void>
  readonly end: () => Promise<void>
  readonly query: (text: string) => Promise<{ readonly rows: ReadonlyArray<Numbers>; readonly rowCount: number | null }>
}

const { Client }: { readonly Client: new (options: { readonly connectionString: string }) => Client } = createRequire(
  import.meta.url,
)("pg")

interface Options {
  readonly rounds: number
  readonly seconds: number
}

const SWEEPER = "sweeper"
const WARM_UP_SECONDS = 10
const CONNECTIONS = 32
const world = scales.small
const create = { by: "keyshelf", load: "component" } as const

const connectedTo = async (url: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}

const parentOf = (pid: number | string): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
}

/** The processes of a PostgreSQL server: its first one and the children of that. */
const processesOf = (postmaster: number): ReadonlyArray<number | string> => [
  postmaster,
  ...readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && parentOf(pid) === postmaster
    } catch {
      // It has ended. The first process counts it.
      return false
    }
  }),
]

const urlOf = (server: string, name: string): string => {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** A database with its services, and what a burst of creates costs there. */
const sideOf = async (server: string, name: string, isSealed: boolean) => {
  const url = urlOf(server, name)
  await run([`${import.meta.dirname}/create-database.mjs`, server, name])
  await fill(url, world)
  const client = await connectedTo(url)
  const serving = await startKeyshelf(url, { SERVICE_ROLES: "core,platform,internal" })
  // Under another user, so that its connections are known.
  const ofSweeper = url.replace("postgres@", `${SWEEPER}@`)
  const sweeping = isSealed ? [await startKeyshelf(ofSweeper, { SERVICE_ROLES: "internal,sweeper" })] : []
  const tokens = await prepare(serving, 8)
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid")
  const postmaster = parentOf(rows[0]?.["pid"] ?? 0)
  const timeOf = (pids: ReadonlyArray<number | string>) =>
    pids.reduce<number>((sum, pid) => sum + processorTimeOf(pid), 0)
  const pidsOf = (sites: ReadonlyArray<Running>) => sites.flatMap(({ process: { pid } }) => pid ?? [])
  const time = async () => {
    const backends = await client.query(
      `SELECT pid FROM pg_stat_activity WHERE usename = '${SWEEPER}' OR pid = pg_backend_pid()`,
    )
    return {
      service: timeOf(pidsOf([serving, ...sweeping])),
      database: timeOf(processesOf(postmaster)),
      background: timeOf([...pidsOf(sweeping), ...backends.rows.flatMap(({ pid }) => pid ?? [])]),
    }
  }
  const settled = async () => {
    if (!isSealed) return
    for (;;) {
      const found = await client.query(
        "SELECT 1 FROM event_arrivals UNION ALL SELECT 1 FROM event_streams WHERE sealed_to < head",
      )
      if (found.rowCount === 0) break
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    await client.query("VACUUM event_arrivals, event_positions, event_streams, event_hashes")
  }
  const count = async () => {
    const counted = await client.query("SELECT count(*)::int AS count FROM components")
    return counted.rows[0]?.["count"] ?? 0
  }
  await settled()
  return {
    burst: async (seconds: number, idlePerSecond = 0) => {
      const already = await count()
      const before = await time()
      const begin = performance.now()
      await burstAt({ servers: [serving], url, tokens, world }, create, CONNECTIONS, seconds)
      await settled()
      const after = await time()
      const creates = (await count()) - already
      return {
        creates,
        service: (after.service - before.service) / creates,
        database: (after.database - before.database) / creates,
        background:
          (after.background - before.background - (idlePerSecond * (performance.now() - begin)) / 1000) / creates,
      }
    },
    /** What the second process costs without events, in microseconds for each second. */
    idle: async (seconds: number) => {
      const before = await time()
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
      return ((await time()).background - before.background) / seconds
    },
    stop: async () => {
      await client.end()
      for (const site of [serving, ...sweeping]) await site.stop()
    },
  }
}

const NONE = { creates: 0, service: 0, database: 0, background: 0 }

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/**
 * Prints the processor time of a create on both databases, in microseconds, and their ratio in each round. The part in the background
 * is that of the second process and its connections, without what they cost when nothing happens: it varies less on a shared machine.
 */
export const compare = ({ rounds, seconds }: Options): Promise<void> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* plainServer({ durable: true })
        yield* Effect.promise(async () => {
          const server = await connectedTo(url)
          // Vacuum belongs to the creates that cause it.
          await server.query("ALTER SYSTEM SET autovacuum = off")
          await server.query("ALTER SYSTEM SET checkpoint_timeout = '1h'")
          await server.query("ALTER SYSTEM SET max_wal_size = '20GB'")
          await server.query(`CREATE ROLE ${SWEEPER} LOGIN SUPERUSER`)
          await server.query("SELECT pg_reload_conf()")
          await server.end()
          const sides = { without: await sideOf(url, "without", false), sealed: await sideOf(url, "sealed", true) }
          for (const side of Object.values(sides)) await side.burst(WARM_UP_SECONDS)
          const idle = await sides.sealed.idle(5)
          const [ratios, costs, background]: [Array<number>, Array<number>, Array<number>] = [[], [], []]
          for (let round = 0; round < rounds; round++) {
            const order = round % 2 === 0 ? (["without", "sealed"] as const) : (["sealed", "without"] as const)
            const found = { without: NONE, sealed: NONE }
            for (const name of order) found[name] = await sides[name].burst(seconds, idle)
            const total = (side: "without" | "sealed") => found[side].service + found[side].database
            ratios.push(total("sealed") / total("without"))
            costs.push(total("without"))
            background.push(found.sealed.background)
            const text = (side: "without" | "sealed") =>
              `${side} ${found[side].service.toFixed(1)} + ${found[side].database.toFixed(1)} us (${found[side].creates})`
            console.log(
              `${text("without")}, ${text("sealed")}, ${found.sealed.background.toFixed(1)} of them in the background: ${ratios.at(-1)?.toFixed(3)}`,
            )
          }
          console.log(
            `In the background: ${median(background).toFixed(1)} us of a create of ${median(costs).toFixed(0)} us, ${(median(background) / median(costs)).toFixed(3)}`,
          )
          console.log(
            `Ratio: ${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})`,
          )
          for (const side of Object.values(sides)) await side.stop()
        })
      }),
    ),
  )
