/**
 * SQL by which domains read a table of an earlier one. The owner offers it in one of its `*Sql.ts`: so an import shows who depends on the
 * table.
 */
import { fragment, literal } from "effect/sql/Statement"
import type { Fragment } from "effect/sql/Statement"
import type { SqlClient } from "effect/sql/SqlClient"
import { rowByKey } from "./RowsByKey.ts"
import type { OrganizationId } from "../values/Identifiers.ts"

/** SQL of a table whose primary key is the organization and an id. */
export interface ReadableRows {
  /** The rows, to be selected from. */
  readonly rows: Fragment
  /** The same under an alias. */
  readonly as: (alias: string) => Fragment
  /** The row that a column such as `i.customer_id` refers to, in the organization of the same row. It is to be joined, in any plan. */
  readonly on: (alias: string, key: string) => Fragment
  /** The row that a column refers to, to be joined by one index look-up. */
  readonly byKey: (
    sql: SqlClient,
    select: string,
    organizationId: OrganizationId,
    key: string,
    column?: "id" | "slug",
  ) => Fragment
  /** The id of a slug, as an expression. An unknown slug yields `NULL`, which equals no column. */
  readonly idBySlug: (sql: SqlClient, organizationId: OrganizationId, slug: string) => Fragment
}

/** Returns the SQL by which other domains read a table. */
export const readableRows = (table: string): ReadableRows => {
  const as = (alias: string) => fragment([literal(`${table} ${alias}`)])
  return {
    rows: fragment([literal(table)]),
    as,
    on: (alias, key) => {
      const [row] = key.split(".")
      const id = `${alias}.organization_id = ${row}.organization_id AND ${alias}.id = ${key}`
      return fragment([literal(`${table} ${alias} ON ${id}`)])
    },
    byKey: (sql, select, organizationId, key, column = "id") =>
      rowByKey(sql, select, { table, within: sql`organization_id = ${organizationId}`, column, key }),
    idBySlug: (sql, organizationId, slug) =>
      sql`(SELECT id FROM ${sql.literal(table)} WHERE organization_id = ${organizationId} AND slug = ${slug})`,
  }
}
