/**
 * The ids of a page of a filtered list. A filter whose index does not have the order of the list, such as a prefix or a
 * range of dates, is served in two ways: few matches are read from its index and sorted; of many, the first ones are
 * found in the order of the list.
 */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"

/** The number of matches of each condition that are sorted. More are not read. */
const FEW = 25_000

/** A filter: a row matches if it meets one of these conditions. Each has an index of its own. */
export type Unordered = ReadonlyArray<Fragment>

export interface PageFilters {
  readonly table: "customers" | "deployment_zones" | "entitlements" | "instances" | "licenses"
  readonly organizationId: string
  /** Which rows come after the previous page. */
  readonly after: Fragment
  readonly count: number
  /** Conditions that each have an index in the order of the list. */
  readonly where: ReadonlyArray<Fragment>
  readonly unordered: ReadonlyArray<Unordered>
}

/** The columns of the order, and the order. Lists have one of both. */
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
    const ofOrganization = sql`organization_id = ${organizationId}`
    const scope = [ofOrganization, after]
    const [first, ...others] = unordered
    // Behind IS TRUE a condition is no reason for the planner to leave the order of the list.
    const further = [...where, ...others.map((filter) => sql`(${sql.or(filter)}) IS TRUE`)]
    if (first === undefined) {
      return sql`SELECT id FROM ${rows} WHERE ${sql.and([...scope, ...further])} ORDER BY ${sorted} LIMIT ${count}`
    }
    const [one, two = sql`false`] = first.map(
      (condition) => sql`SELECT ${position} FROM ${rows} WHERE ${sql.and([...scope, condition])} LIMIT ${FEW}`,
    )
    const matches = first.length === 1 ? sql`${one}` : sql`(${one}) UNION ALL (${two})`
    // A row that meets both conditions is there twice, so twice as many rows contain a page.
    const fromMatches =
      further.length === 0
        ? sql`SELECT DISTINCT id FROM (SELECT * FROM matches ORDER BY ${sorted} LIMIT ${2 * count}) best
            WHERE (SELECT few FROM amount)`
        : sql`SELECT id FROM ${rows} WHERE ${sql.and([
            sql`(SELECT few FROM amount)`,
            ofOrganization,
            sql`id IN (SELECT id FROM matches)`,
            ...further,
          ])} ORDER BY ${sorted} LIMIT ${count}`
    const inOrder = sql`SELECT id FROM ${rows} WHERE ${sql.and([
      sql`NOT (SELECT few FROM amount)`,
      ...scope,
      sql`(${sql.or(first)}) IS TRUE`,
      ...further,
    ])} ORDER BY ${sorted} LIMIT ${count}`
    return sql`
      WITH matches AS MATERIALIZED (${matches}),
        amount AS MATERIALIZED (SELECT count(*) < ${FEW} AS few FROM matches)
      (${fromMatches}) UNION ALL (${inOrder})`
  }

/** The prefix of a name or a slug, without case. */
export const prefixOf = (sql: PgClient.PgClient, q: string): Unordered =>
  ['lower(name) COLLATE "C"', 'slug COLLATE "C"'].map((text) => {
    const value = sql.literal(text)
    // The greatest character follows every text with this prefix.
    return sql`${value} >= lower(${q}::text) AND ${value} < lower(${q}::text) || chr(1114111)`
  })
