/**
 * Removed organizations. Their credentials fail and their work stops at once; the sweeper deletes their rows afterwards, in the order of
 * `migrations/tables.ts`.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isAt, locatedBy } from "./RowsByKey.ts"
import { decodedColumn, returnedCount } from "./Statements.ts"
import type { OrganizationId } from "../values/Identifiers.ts"

/**
 * The SQL condition that an organization is removed, by a column with its id. The index that it reads is nearly empty.
 * `OFFSET 0` stops PostgreSQL from turning it into a join, so that it does not change how the rest of the statement is planned.
 */
export const isRemoved = (column: string): string => `EXISTS (
  SELECT 1 FROM organizations removed WHERE removed.id = ${column} AND removed.removed_at IS NOT NULL OFFSET 0)`

const idsIn = decodedColumn("id", Schema.String)

/** The ids of those of these organizations that exist and are not removed. */
export const presentAmong = (sql: SqlClient, ids: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(
    idsIn(sql`SELECT id FROM organizations WHERE id = ANY(${ids}::uuid[]) AND removed_at IS NULL`),
    (present) => new Set(present),
  )

/** Deletes the rows of one organization in a table. */
export interface RowsOf {
  readonly table: string
  /** Deletes up to `count` rows and returns how many. */
  readonly deleteSome: (organizationId: OrganizationId, count: number) => Effect.Effect<number>
}

/** Tables whose rows of an organization are deleted, in order. */
export type Removal = Effect.Effect<ReadonlyArray<RowsOf>, never, PgClient.PgClient>

/** The rows of tables with a column `organization_id`. Skips rows that another node deletes at the same time. */
export const rowsIn = (...tables: ReadonlyArray<string>): Removal =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const located = yield* locatedBy(sql)
    return tables.map((table): RowsOf => ({
      table,
      deleteSome: (organizationId, count) => {
        const some = sql`
          SELECT ctid FROM ${sql(table)} WHERE organization_id = ${organizationId} LIMIT ${count} FOR UPDATE SKIP LOCKED`
        return returnedCount(sql`
          DELETE FROM ${sql(table)} WHERE ${isAt(sql, located(organizationId), some)} RETURNING 1`)
      },
    }))
  })

/**
 * {@link rowsIn} for a partitioned table, whose partitions repeat the locations of rows. The columns follow the
 * organization in the primary key of each partition.
 */
export const rowsInPartitions = (table: string, ...columns: ReadonlyArray<string>): Removal =>
  Effect.map(PgClient.PgClient, (sql) => {
    const key = sql.csv(columns.map((column) => sql`${sql(column)}`))
    const last = sql.csv(columns.map((column) => sql`${sql(column)} DESC`))
    return [
      {
        table,
        deleteSome: (organizationId, count) =>
          returnedCount(sql`
            DELETE FROM ${sql(table)} WHERE organization_id = ${organizationId} AND (${key}) <= (
              SELECT ${key} FROM (
                SELECT ${key} FROM ${sql(table)} WHERE organization_id = ${organizationId}
                ORDER BY ${key} LIMIT ${count}
              ) AS next ORDER BY ${last} LIMIT 1)
            RETURNING 1`),
      },
    ]
  })

/** Joins removals in order. */
export const inOrder = (...removals: ReadonlyArray<Removal>): Removal =>
  Effect.map(Effect.all(removals), (found) => found.flat())
