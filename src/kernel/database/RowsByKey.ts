/**
 * Finds rows by their keys in the background, whatever the statistics say.
 *
 * PostgreSQL keeps the plans of prepared statements. A plan made when an organization had few rows estimates one row
 * for it. It finds `organization_id = $1 AND id = ANY($2)` by reading them all: each with each key, and with each row
 * of a joined table. Ten minutes later that is ruinous. So statements in the background begin with the keys and look up
 * one row for each.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { hasCitus, planByIndex } from "./Statements.ts"
import { Transaction, Transactions } from "./Transactions.ts"
import type { OrganizationId } from "../values/Identifiers.ts"

/** Where a key is looked up. */
interface Keyed {
  readonly table: string
  /** The condition on the first columns of a unique index: the organization, mostly. */
  readonly within: Fragment
  /** The last column of that index. */
  readonly column: string
  /** Its value: a column of the rows before. */
  readonly key: string
}

/**
 * The subquery of the one row with a key, to be joined `LATERAL`. Only the index of the key has its order: of others that begin with the
 * organization, the database would take any that looks as good.
 */
export const rowByKey = (
  sql: SqlClient,
  select: string,
  { column, key, table, within }: Keyed,
  lock = "",
): Fragment => {
  const [name, value] = [sql(column), sql.literal(key)]
  return sql`LATERAL (
    SELECT ${sql.literal(select)} FROM ${sql(table)} WHERE ${within} AND ${name} BETWEEN ${value} AND ${value}
    ORDER BY ${name} LIMIT 1 ${sql.literal(lock)})`
}

/** The beginning of a condition on rows by their location: the organization that names their shard, or nothing for `null`. */
export const scopeOf = (sql: SqlClient, shard: string | null): Fragment =>
  shard === null ? sql`` : sql`organization_id = ${shard} AND`

/** The condition that a row is where a subquery found it, in the shard of an organization or on the only server. */
export const isAt = (sql: SqlClient, shard: string | null, locations: Fragment): Fragment =>
  sql`${scopeOf(sql, shard)} ctid = ANY (ARRAY (${locations}))`

/**
 * Returns which organization a condition on locations names: on Citus that of the rows, by which it finds the shard; otherwise none,
 * because one server would then read all rows of the organization.
 */
export const locatedBy = (sql: SqlClient): Effect.Effect<(organizationId: OrganizationId) => string | null> =>
  Effect.map(hasCitus(sql), (isSharded) => (organizationId) => (isSharded ? organizationId : null))

/** Runs work in one transaction whose statements are planned by index. */
type RunByIndex = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Transaction>>

/** Transactions of work in the background. */
export const transactionsByIndex: Effect.Effect<RunByIndex, never, PgClient.PgClient | Transactions> = Effect.gen(
  function* () {
    const sql = yield* PgClient.PgClient
    const transactions = yield* Transactions
    return (work) => transactions.run(Effect.andThen(planByIndex(sql), work))
  },
)
