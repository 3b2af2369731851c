/**
 * The ids of a page of a filtered list. A filter whose index does not have the order of the list, such as a word or a
 * range of dates, is served in two ways. First the statement scans the first rows of the list. If they contain no page,
 * it reads all matches from the index and sorts them.
 */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"
import type { OrganizationId } from "../values/Identifiers.ts"

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
  readonly table:
    | "components"
    | "customers"
    | "deployment_zones"
    | "entitlements"
    | "instances"
    | "licenses"
    | "releases"
  readonly organizationId: OrganizationId
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
 * The indexes of words have names in this form. Names of ASCII, which most are, take no longer than `lower`
 * alone.
 */
const folded = (sql: PgClient.PgClient, text: Fragment): Fragment => sql`
  (CASE WHEN octet_length(${text}) = length(${text}) THEN lower(${text})
    ELSE left(replace(replace(lower(normalize(${text}, NFKC)), 'ς', 'σ'), 'ß', 'ss'), 255) END)`

/** What separates words. The index has the same text. */
const SEPARATORS = `E'\\t\\n\\r!"#$%&''()*+,-./:;<=>?@[\\\\]^_\`{|}~\\u2010\\u2011\\u2013\\u2014\\u00b7\\u3001\\u3002'`

/** A folded text with spaces for all that separates its words. */
const spaced = (sql: PgClient.PgClient, text: Fragment): Fragment =>
  sql`translate(${text}, ${sql.literal(SEPARATORS)}, repeat(' ', length(${sql.literal(SEPARATORS)})))`

/**
 * Records whose name or slug has words that begin with the words of a text, in any order. A text without a word matches nothing, the empty
 * text everything. A release has a version instead of a name.
 */
export const wordsIn = (
  sql: PgClient.PgClient,
  organizationId: OrganizationId,
  q: string,
  name: "name" | "version" = "name",
): ReadonlyArray<Unordered> => {
  if (q === "") return []
  const text = sql`' ' || ${folded(sql, sql.literal(name))} || ' ' || slug`
  const record = spaced(sql, text)
  const asked = sql`unnest(string_to_array(${spaced(sql, folded(sql, sql`${q}::text`))}, ' ')) AS word`
  // Separators are the only characters that patterns or queries would interpret, so that no word needs an escape.
  const patterns = (before: string) =>
    sql`((SELECT array_agg(${sql.literal(`'${before}'`)} || word || '%') FROM ${asked} WHERE word <> '')::text[])`
  // Most rows are left out before their words are separated, which takes several times as long.
  const matches = sql`CASE WHEN ${text} LIKE ALL ${patterns("%")} THEN ${record} LIKE ALL ${patterns("% ")} END`
  // A letter begins words of so large a part of the rows that the index is slower with it: if there are other words, rows are compared.
  const longest = sql`(SELECT max(length(word)) FROM ${asked})`
  const hasLetters = sql`(SELECT bool_or(length(word) = 1) AND max(length(word)) > 1 FROM ${asked})`
  const query = sql`(
    SELECT string_agg('''' || right(${organizationId}::text, 12) || word || ''':*', ' & ')::tsquery
    FROM ${asked} WHERE length(word) > 1 OR (word <> '' AND ${longest} = 1))`
  const lexemes = sql`array_to_tsvector(array_remove(string_to_array(
    replace(${record}, ' ', ' ' || right(organization_id::text, 12)), ' '), ''))`
  const indexed = sql`${lexemes} @@ ${query} AND (NOT ${hasLetters} OR ${matches})`
  return [{ matches, indexed: [indexed] }]
}
