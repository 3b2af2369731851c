/**
 * The ids of a page of a filtered list. A filter whose index does not have the order of the list, such as a prefix or a
 * range of dates, is served in two ways. First the statement scans the first rows of the list. If they contain no page,
 * it reads all matches from the index and sorts them.
 */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"

/** The number of rows of the list that are scanned first. If a filter matches many rows, they contain a page. */
const PROBED_ROWS = 3000

/** A filter that has no index in the order of the list. */
export interface Unordered {
  /** Whether a row matches. */
  readonly matches: Fragment
  /** One or two conditions with an index each. A row matches if it meets one of them. */
  readonly indexed: ReadonlyArray<Fragment>
}

interface PageFilters {
  readonly table: "customers" | "deployment_zones" | "entitlements" | "instances" | "licenses"
  readonly organizationId: string
  /** Which rows come after the previous page. */
  readonly after: Fragment
  readonly count: number
  /** Conditions that each have an index in the order of the list. */
  readonly where: ReadonlyArray<Fragment>
  readonly unordered: ReadonlyArray<Unordered>
}

/** The sort columns, and the order by them. Every list has one of these two orders. */
const orders = {
  newest: ["id", "id DESC"],
  display: ["display_order, id", "display_order, id"],
} as const

/** Builds the statement of a page's ids: a subquery. */
export const pageIds =
  (sql: PgClient.PgClient, order: keyof typeof orders) =>
  ({ after, count, organizationId, table, unordered, where }: PageFilters): Fragment => {
    const [position, sorted] = [sql.literal(orders[order][0]), sql.literal(orders[order][1])]
    const rows = sql.literal(table)
    const scope = [sql`organization_id = ${organizationId}`, after]
    const inOrder = (limit: number) =>
      sql`FROM ${rows} WHERE ${sql.and([...scope, ...where])} ORDER BY ${sorted} LIMIT ${limit}`
    const [first, ...others] = unordered
    if (first === undefined) return sql`SELECT id ${inOrder(count)}`
    const [one, two] = first.indexed.map(
      (condition) => sql`SELECT ${position} FROM ${rows} WHERE ${sql.and([...scope, condition])}`,
    )
    const matches = two === undefined ? sql`${one ?? sql`SELECT 1`}` : sql`(${one ?? two}) UNION ALL (${two})`
    const further = [...where, ...others.map((filter) => filter.matches)]
    // OFFSET 0 keeps the planner from leaving the index for the order. A row that meets both conditions is there twice, so
    // twice as many rows contain a page.
    const sortedMatches =
      further.length === 0
        ? sql`SELECT DISTINCT ${position} FROM (
            SELECT * FROM (${matches} OFFSET 0) matches ORDER BY ${sorted} LIMIT ${2 * count}) best`
        : sql`SELECT ${position} FROM ${rows} WHERE ${sql.and([
            ...scope,
            ...further,
            sql`id = ANY(ARRAY(SELECT id FROM (${matches} OFFSET 0) matches))`,
          ])} ORDER BY ${sorted} LIMIT ${count}`
    return sql`
      WITH probed AS MATERIALIZED (
        SELECT ${position} FROM (SELECT * ${inOrder(PROBED_ROWS)}) ${rows}
        WHERE ${sql.and(unordered.map((filter) => filter.matches))} LIMIT ${count}
      ), answered AS MATERIALIZED (SELECT count(*) = ${count} AS yes FROM probed)
      SELECT id FROM (
        SELECT ${position} FROM probed WHERE (SELECT yes FROM answered)
        UNION ALL
        SELECT ${position} FROM (${sortedMatches}) found WHERE NOT (SELECT yes FROM answered)
      ) page ORDER BY ${sorted} LIMIT ${count}`
  }

/**
 * A text without the differences that a search ignores: its case, composed characters, the final sigma, `ß` for `ss`.
 * The indexes of the baseline have names in this form. Names of ASCII, which most are, take no longer than `lower`
 * alone.
 */
const folded = (sql: PgClient.PgClient, text: Fragment): Fragment => sql`
  (CASE WHEN octet_length(${text}) = length(${text}) THEN lower(${text})
    ELSE left(replace(replace(lower(normalize(${text}, NFKC)), 'ς', 'σ'), 'ß', 'ss'), 255) END)`

/** The prefix of a name or a slug. */
export const prefixOf = (sql: PgClient.PgClient, q: string): Unordered => {
  const prefix = folded(sql, sql`${q}::text`)
  const indexed = [sql`${folded(sql, sql.literal("name"))} COLLATE "C"`, sql.literal('slug COLLATE "C"')].map(
    // The greatest character follows every text with this prefix.
    (value) => sql`${value} >= ${prefix} AND ${value} < ${prefix} || chr(1114111)`,
  )
  return { matches: sql.or(indexed), indexed }
}
