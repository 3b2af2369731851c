/**
 * `npm run bench -- --citus`: the same service on a plain server and on a Citus cluster (a coordinator and two
 * workers), alternately. All are servers of this machine's PostgreSQL, with the same settings and new databases, so the
 * ratio is the overhead of Citus on equal hardware, without the gain of workers that have machines of their own.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { citusCluster, plainServer, whyNoCitus } from "../test/support/CitusCluster.ts"
import { burstAt, inRounds } from "./burst.ts"
import type { Aim, Load } from "./burst.ts"
import { measure as measureDispatch } from "./dispatch.ts"
import { citusOperations, DISPATCH_ON_CITUS } from "./plan.ts"
import * as report from "./report.ts"
import { fill, prepare, scales, startKeyshelf } from "./world.ts"

interface Options {
  readonly rounds: number
  readonly seconds: number
  readonly only: string
}

const world = scales.citus
const DISPATCH = `webhook dispatch, 40 endpoints of ${world.organizations} organizations`

/** Starts the service on a database that is filled first. */
const siteOn = async (url: string) => {
  await fill(url, world)
  const site = await startKeyshelf(url)
  return { servers: [site], site, tokens: await prepare(site, world.organizations), url, world }
}

/** How many organizations each worker stores: with all of them on one, the other would have nothing to do. */
const organizationsByWorker = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const rows = yield* sql<{ count: number }>`
      SELECT count(organizations)::int AS count FROM pg_dist_node node
      JOIN pg_dist_placement placement USING (groupid)
      LEFT JOIN organizations ON get_shard_id_for_distribution_column('events', organizations.id) = placement.shardid
      WHERE node.groupid <> 0 GROUP BY node.groupid ORDER BY node.groupid`
    return rows.map(({ count }) => count)
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }), { local: true }))

const measured = async (plain: string, coordinator: string, { only, rounds, seconds }: Options) => {
  const aims = { plain: await siteOn(plain), citus: await siteOn(coordinator) }
  const load: Load = (way, ...rest) => burstAt(aims[way.by === "citus" ? "citus" : "plain"] satisfies Aim, way, ...rest)
  // A new process compiles for some ten seconds.
  for (const by of ["plain", "citus"] as const) await load({ by, load: "customer" }, 32, 10)
  const results = new Map<string, report.Rounds>()
  for (const operation of citusOperations.filter(({ name }) => name.includes(only))) {
    const bursts = await inRounds(operation, { load, rounds, seconds })
    results.set(operation.name, bursts)
    console.log(`${report.section(operation, bursts)}\n`)
  }
  if (DISPATCH.includes(only)) {
    const bursts = await measureDispatch({ services: aims, rounds, jobs: 500 * seconds })
    results.set(DISPATCH, bursts)
    const operation = {
      name: DISPATCH,
      connections: 0,
      ways: {},
      targets: [{ of: "citus", to: "plain", must: DISPATCH_ON_CITUS }],
    }
    console.log(`${report.section(operation, bursts)}\n`)
  }
  await Promise.all(Object.values(aims).map(({ site }) => site.stop()))
  return report.comparison("Plain server and Citus, per second", "citus", "plain", results)
}

/** Prints the rates on both and their ratios, or why there is nothing to compare. */
export const compare = async (options: Options): Promise<void> => {
  if (whyNoCitus !== undefined) return console.error(`Skipped the comparison with Citus: ${whyNoCitus}.`)
  console.error("Preparing both databases, which takes some minutes.")
  const comparing = Effect.gen(function* () {
    const plain = yield* plainServer({ durable: true })
    // With the default settings of Citus, such as 32 shards.
    const cluster = yield* citusCluster({ durable: true, citus: "" })
    const summary = yield* Effect.promise(() => measured(plain.url, cluster.coordinator.url, options))
    const counts = yield* organizationsByWorker(cluster.coordinator.url)
    console.log(report.heading({ ...options, scale: "citus" }))
    console.log(`\nOrganizations by worker: ${counts.join(" and ")}.\n\n${summary}`)
  })
  await Effect.runPromise(Effect.scoped(comparing))
}
