/**
 * Distributes the tables by organization on Citus. A table with a column `organization_id` that is never null is distributed by it,
 * all in one colocation group: a statement that names one organization runs on one worker. What statements of all organizations
 * join with such tables is a reference table, with a copy on each node. The others stay on the coordinator.
 *
 * Citus commits on a worker first, and on the coordinator afterwards: what a worker has committed would have no outbox
 * row if the coordinator stopped in between. It commits in two phases if a table that it knows has changed on the
 * coordinator, too. A trigger ensures that: storing an outbox row, or the answer for an idempotency key, deletes from
 * `citus_commits`, which has no rows.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { tables } from "../../../migrations/tables.ts"
import type { Table } from "../../../migrations/tables.ts"
import { hasCitus } from "../../kernel/database/Statements.ts"
import { migrationsTable } from "./Migrations.ts"
import { commandLine } from "../PackageFiles.ts"

/** Tables on the coordinator whose rows commit together with changes on a worker. */
export const guardedTables = ["webhook_outbox", "idempotency_keys"] as const

/** A table without rows, by which Citus knows of changes on the coordinator. */
const COMMITS_TABLE = "citus_commits"

/** The trigger that makes such a transaction commit in two phases. */
export const COMMITS_TRIGGER = "commits_in_two_phases"

type Placement = Table["placement"]

/** The database has Citus, but its tables cannot be distributed. The message says why and what to do. */
export class NotDistributable extends Schema.TaggedError<NotDistributable>()("NotDistributable", {
  message: Schema.String,
}) {}

// Of Citus itself, and of the migrator.
const placements = new Map<string, Placement>([
  ...tables.map(({ name, placement }) => [name, placement] as const),
  [COMMITS_TABLE, "coordinator"],
  [migrationsTable, "coordinator"],
])

/** Where a table is to be stored; `undefined` for one that is not of the service. Pure. */
const placementOf = (table: string): Placement | undefined => placements.get(table)

/** A table of the service, with its kind as planned and as Citus has it. */
interface PlannedTable {
  readonly name: string
  readonly planned: Placement
  readonly actual: Placement
  readonly colocation: number | null
}

/** Reads all tables and how Citus stores them. Partitions follow their table. */
export const plannedTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string; actual: Placement; colocation: number | null }>`
    SELECT class.relname AS name,
      CASE citus.citus_table_type
        WHEN 'distributed' THEN 'distributed' WHEN 'reference' THEN 'reference' ELSE 'coordinator' END AS actual,
      citus.colocation_id AS colocation
    FROM pg_class class
    LEFT JOIN citus_tables citus ON citus.table_name = class.oid
    WHERE class.relnamespace = 'public'::regnamespace AND class.relkind IN ('r', 'p') AND NOT class.relispartition
      AND class.relname <> ${migrationsTable}
    ORDER BY class.relname`
  return rows.flatMap(({ actual, colocation, name }): ReadonlyArray<PlannedTable> => {
    const planned = placementOf(name)
    return planned === undefined ? [] : [{ name, planned, actual, colocation }]
  })
})

const FIRST = "events"

const storeAs = ({ name, planned }: PlannedTable) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    if (planned === "reference") return sql`SELECT create_reference_table(${name})`
    const group = name === FIRST ? "none" : FIRST
    return sql`SELECT create_distributed_table(${name}, 'organization_id', colocate_with => ${group})`
  })

// The other tables join the colocation group of the first one.
const inOrder = (tables: ReadonlyArray<PlannedTable>) =>
  tables.toSorted((one, other) => Number(other.name === FIRST) - Number(one.name === FIRST))

const commitInTwoPhases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE citus_commits (id integer PRIMARY KEY)`
  yield* sql`SELECT citus_add_local_table_to_metadata('citus_commits')`
  yield* sql`
    CREATE FUNCTION commit_in_two_phases() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM citus_commits WHERE id = 0;
      RETURN NULL;
    END $$`
  for (const table of guardedTables) {
    yield* sql`
      CREATE TRIGGER ${sql(COMMITS_TRIGGER)} AFTER INSERT OR UPDATE ON ${sql(table)}
      FOR EACH STATEMENT EXECUTE FUNCTION commit_in_two_phases()`
  }
})

/**
 * Functions of triggers that cannot run on a worker. The versions of the catalog are for a cache that a sharded service does not
 * have: one row of each organization would be written from triggers of many shards. The keys of a deleted instance are on the
 * coordinator: the service revokes them itself, before it deletes the instance.
 */
export const droppedTriggers = ["catalog_changed", "instance_deleted"]

const dropTriggers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const triggers = yield* sql<{ name: string; table: string }>`
    SELECT tgname AS name, tgrelid::regclass::text AS table FROM pg_trigger
    JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE NOT tgisinternal AND ${sql.in("proname", droppedTriggers)} AND pronamespace = 'public'::regnamespace`
  for (const { name, table } of triggers) yield* sql`DROP TRIGGER ${sql(name)} ON ${sql(table)}`
})

const hasRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ found: boolean }>`SELECT EXISTS (SELECT 1 FROM organizations) AS found`
  return row?.found === true
})

const distributeAll = (tables: ReadonlyArray<PlannedTable>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // Citus rejects keys to a table that is still local: they are dropped first, and added again.
    const keys = yield* sql<{ table: string; name: string; definition: string }>`
      SELECT conrelid::regclass::text AS table, conname AS name, pg_get_constraintdef(oid) AS definition
      FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0`
    for (const { name, table } of keys) yield* sql`ALTER TABLE ${sql(table)} DROP CONSTRAINT ${sql(name)}`
    yield* dropTriggers
    for (const table of inOrder(tables)) yield* storeAs(table)
    for (const { definition, name, table } of keys) {
      yield* sql`ALTER TABLE ${sql(table)} ADD CONSTRAINT ${sql(name)} ${sql.literal(definition)}`
    }
  })

/**
 * Distributes what is not distributed yet, in one transaction, and returns the names of these tables. Does nothing without
 * Citus. Fails if the database already has organizations: distributing would block their requests for as long as copying takes.
 */
export const distribute = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  if (!(yield* hasCitus(sql))) return []
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended('keyshelf distribute', 0))`
      const missing = (yield* plannedTables).filter(({ actual, planned }) => actual !== planned)
      if (missing.length === 0) return []
      if (yield* hasRows) {
        return yield* new NotDistributable({
          message: `The database has Citus and organizations, but ${missing.length} tables are not distributed (${missing[0]?.name} ...). Create an empty database with the extension, and move each organization into it: \`${commandLine("organization export")}\`, \`${commandLine("organization import")}\`.`,
        })
      }
      yield* sql`SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`
      yield* sql`SET LOCAL citus.enable_unsafe_triggers TO on`
      yield* sql`SET LOCAL statement_timeout TO '10min'`
      yield* distributeAll(missing)
      yield* commitInTwoPhases
      return missing.map(({ name }) => name)
    }),
  )
})
