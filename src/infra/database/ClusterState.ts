/** How Citus stores the tables, and whether its nodes answer. It only reads. */
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { COMMITS_TRIGGER, droppedTriggers, guardedTables, plannedTables } from "./Distribution.ts"

/** A node of the cluster. */
export interface ClusterNode {
  /** `host:port` */
  readonly name: string
  readonly answers: boolean
  /** How many transactions it can prepare, 0 if it does not answer. */
  readonly maxPrepared: number
  /** Transactions of this database that were prepared more than five minutes ago. */
  readonly forgotten: number
}

/** What is wrong with how the tables are stored. Empty lists: nothing. */
export interface Placement {
  /** Tables that are not stored as planned, such as `events`. */
  readonly misplaced: ReadonlyArray<string>
  /** Distributed tables outside the colocation group of `events`. */
  readonly apart: ReadonlyArray<string>
  /** Partitions of distributed tables that are not distributed. */
  readonly partitions: ReadonlyArray<string>
  /** Tables on the coordinator whose changes would commit in one phase. */
  readonly unguarded: ReadonlyArray<string>
  /** Tables with a trigger that is for one server. */
  readonly withLocalTrigger: ReadonlyArray<string>
}

/** Returns the version of Citus, or none on plain PostgreSQL. */
export const citusVersion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ version: string }>`SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'`
  return Option.fromUndefinedOr(row?.version)
})

/** Compares how the tables are stored with the plan. */
export const readPlacement = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* plannedTables
  const group = tables.find(({ name }) => name === "events")?.colocation
  const names = (rows: ReadonlyArray<{ readonly name: string }>) => rows.map(({ name }) => name)
  const partitions = yield* sql<{ name: string }>`
    SELECT class.relname AS name FROM pg_class class JOIN pg_inherits ON inhrelid = class.oid
    WHERE class.relispartition AND inhparent IN (SELECT table_name FROM citus_tables WHERE citus_table_type = 'distributed')
      AND class.relkind IN ('r', 'p') AND class.oid NOT IN (SELECT logicalrelid FROM pg_dist_partition)
      AND class.relnamespace = 'public'::regnamespace ORDER BY 1`
  const guarded = yield* sql<{ name: string }>`
    SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = ${COMMITS_TRIGGER} AND tgenabled <> 'D'`
  const dropped = yield* sql<{ name: string }>`
    SELECT DISTINCT tgrelid::regclass::text AS name FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE NOT tgisinternal AND ${sql.in("proname", droppedTriggers)} AND pronamespace = 'public'::regnamespace ORDER BY 1`
  const placement: Placement = {
    misplaced: names(tables.filter(({ actual, planned }) => actual !== planned)),
    apart: names(tables.filter(({ actual, colocation }) => actual === "distributed" && colocation !== group)),
    partitions: names(partitions),
    unguarded: guardedTables.filter((table) => !names(guarded).includes(table)),
    withLocalTrigger: names(dropped),
  }
  return placement
})

/** Queries each node of the cluster. A node that accepts no connection within two seconds counts as unavailable. */
export const readNodes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SET LOCAL citus.node_connection_timeout = 2000`
      return yield* sql<{ name: string; answers: boolean; result: string }>`
        SELECT nodename || ':' || nodeport AS name, success AS answers, result
        FROM run_command_on_all_nodes($$
          SELECT current_setting('max_prepared_transactions') || ' ' || count(*) FROM pg_prepared_xacts
          WHERE database = current_database() AND prepared < now() - interval '5 minutes' $$,
          give_warning_for_connection_errors => true)
        JOIN pg_dist_node USING (nodeid) ORDER BY groupid`
    }),
  )
  return rows.map(({ answers, name, result }): ClusterNode => {
    const [maxPrepared, forgotten] = answers ? result.split(" ").map(Number) : []
    return { name, answers, maxPrepared: maxPrepared ?? 0, forgotten: forgotten ?? 0 }
  })
})
