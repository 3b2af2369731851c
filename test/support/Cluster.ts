/** The nodes of a Citus cluster as a test sees them: each database of a test exists on all of them. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { databaseUrl } from "./databaseUrl.ts"

/** Whether the tests run on a cluster. */
export const isOnCitus = process.env["TEST_CITUS_URL"] !== undefined

/**
 * Whether a statement that asks several shards fails, and one whose parts exchange rows, which Citus would send to each worker. Sweeps
 * do so, hence this is for tests of requests.
 */
export const asksOneShard = process.env["TEST_CITUS_ONE_SHARD"] !== undefined

/** What a database of such a test is set to. */
export const oneShard = { "citus.multi_task_query_log_level": "error", "citus.max_intermediate_result_size": "0" }

/** The tests' own statements may do both. */
export const ownSession = asksOneShard
  ? { "citus.multi_task_query_log_level": "off", "citus.max_intermediate_result_size": "-1" }
  : {}

/** Runs one statement on a database. */
export const query = <Row extends object>(url: string, statement: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe<Row>(statement)).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }), { local: true }),
  )

/** Names Citus as installed in a database of a server without it. What the extension consists of does not matter to the service. */
export const nameCitus = (version: string) =>
  `INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
   SELECT 99999, 'citus', oid, 'public'::regnamespace, false, '${version}' FROM pg_roles WHERE rolname = current_user`

/** Runs a statement on each of these servers, the coordinator first. */
export const onEachServer = (serverUrls: ReadonlyArray<string>, statement: string) =>
  Effect.forEach(serverUrls, (url) => query(url, statement), { discard: true })

/** The servers of a cluster, the coordinator first: the workers are those that its database in `url` knows. */
export const serversOf = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const workers = yield* sql<{ host: string; port: number }>`
      SELECT nodename AS host, nodeport AS port FROM pg_dist_node WHERE groupid <> 0 ORDER BY groupid`
    return [
      url,
      ...workers.map(({ host, port }) => {
        const worker = new URL(url)
        worker.hostname = host
        worker.port = String(port)
        return worker.href
      }),
    ]
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }), { local: true }))

/** Makes a new database of these servers a cluster of its own. */
export const joinNodes = (serverUrls: ReadonlyArray<string>, database: string) =>
  Effect.gen(function* () {
    for (const url of serverUrls) yield* query(databaseUrl(url, database), "CREATE EXTENSION IF NOT EXISTS citus")
    const [coordinator, ...workers] = serverUrls.map((url) => new URL(url))
    const onCoordinator = databaseUrl(serverUrls[0]!, database)
    yield* query(onCoordinator, `SELECT citus_set_coordinator_host('${coordinator!.hostname}', ${coordinator!.port})`)
    for (const { hostname, port } of workers) {
      yield* query(onCoordinator, `SELECT citus_add_node('${hostname}', ${port})`)
    }
  })

/** Forbids connections to a database, Citus' own included, so that it can be copied. */
export const closeDatabase = (serverUrls: ReadonlyArray<string>, database: string) =>
  Effect.gen(function* () {
    yield* onEachServer(serverUrls, `ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
    yield* onEachServer(
      serverUrls,
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${database}'`,
    )
  })
