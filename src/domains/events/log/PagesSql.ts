/** SQL of pages of the stream: positions are found by the filters, and their events by their ids. */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { decodedValue } from "../../../kernel/database/Statements.ts"
import type { EventFilter } from "../Model.ts"
import { eventByKey } from "./PlacingSql.ts"
import { boundsOf } from "../Rules.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** Beyond every position: the highest `bigint`. */
const END = "9223372036854775807"

const EVENT_COLUMNS = `id, type, occurred_at AS "timestamp", organization_id AS "organizationId", (actor - 'credential')::text AS actor,
  (actor->'credential')::text AS credential, data::text AS data, previous::text AS previous`

/** Where a page is: the condition that its positions meet, and their order. */
interface PageBounds {
  readonly condition: Fragment
  readonly order: Fragment
  readonly count: number
}

/** The last position of a stream up to which retention has deleted the events. Reading begins after it. */
export const prunedTo = (sql: SqlClient, organizationId: OrganizationId): Fragment =>
  sql`coalesce((SELECT pruned_to FROM event_streams WHERE organization_id = ${organizationId}), 0)`

const positionIn = decodedValue("position", Schema.Int)

/** The position of the first stored event that occurred at an instant or later, or waits for its delivery. */
export const firstRetained = (sql: SqlClient, organizationId: OrganizationId, from: Date, isWaiting: Fragment) =>
  positionIn(sql`
    SELECT placed.position::float8 AS position FROM event_positions placed
    CROSS JOIN ${eventByKey(sql, organizationId, "id, occurred_at", "placed.event_id")} AS event
    WHERE placed.organization_id = ${organizationId} AND placed.position > ${prunedTo(sql, organizationId)}
      AND (event.occurred_at >= ${from} OR ${isWaiting})
    ORDER BY placed.position LIMIT 1`)

/** The stored events up to a position: a column of each. */
export const eventsUpTo = (sql: SqlClient, organizationId: OrganizationId, position: number, column: string) => sql`
  SELECT event.${sql.literal(column)} FROM event_positions placed
  CROSS JOIN ${eventByKey(sql, organizationId, column, "placed.event_id")} AS event
  WHERE placed.organization_id = ${organizationId} AND placed.position > ${prunedTo(sql, organizationId)}
    AND placed.position <= ${position}`

/**
 * The condition on positions of a time range, without which a page would read the stream from its start, or to its end. The index of
 * ids finds the events that bound the positions.
 */
const positionsInTime = (
  sql: SqlClient,
  organizationId: OrganizationId,
  filter: EventFilter,
): ReadonlyArray<Fragment> => {
  const { since, until } = boundsOf(filter)
  const positionOf = (condition: Fragment, order: string) => sql`(
    SELECT bound.position FROM event_positions bound
    WHERE bound.organization_id = ${organizationId} AND bound.event_id ${condition}
    ORDER BY bound.event_id ${sql.literal(order)} LIMIT 1)`
  return [
    ...(since === undefined ? [] : [sql`placed.position > coalesce(${positionOf(sql`< ${since}::uuid`, "DESC")}, 0)`]),
    ...(until === undefined
      ? []
      : [sql`placed.position < coalesce(${positionOf(sql`>= ${until}::uuid`, "ASC")}, ${sql.literal(END)})`]),
  ]
}

/** The exact condition of a time range, on events. */
const eventsInTime = (sql: SqlClient, { since, until }: EventFilter): ReadonlyArray<Fragment> => [
  ...(since === undefined ? [] : [sql`event."timestamp" >= ${since}`]),
  ...(until === undefined ? [] : [sql`event."timestamp" < ${until}`]),
]

// Steps from each type to the next one in the index, instead of reading all events of the actor.
const typesOfActor = (sql: SqlClient, organizationId: OrganizationId, actor: string): Fragment => {
  const next = (after: Fragment) => sql`(
    SELECT typed.type FROM event_positions typed
    WHERE typed.organization_id = ${organizationId} AND typed.actor_id = ${actor}
      ${after} ORDER BY typed.type LIMIT 1)`
  return sql`(
    WITH RECURSIVE types (type) AS (
      SELECT ${next(sql``)} UNION ALL
      SELECT ${next(sql`AND typed.type > types.type`)} FROM types WHERE types.type IS NOT NULL
    ) SELECT type FROM types WHERE type IS NOT NULL) AS wanted`
}

/** What an event is about, and what owns that. Each has an index in the order of the stream. */
const SUBJECT_COLUMNS = ["resource", "owner"] as const

/**
 * The statement that reads events on one side of a position. With records, names or an actor, it reads one index range for each and merges
 * the ranges. So neither a rare nor a frequent one causes a scan of the whole stream.
 */
export const pageOf = (
  sql: SqlClient,
  organizationId: OrganizationId,
  filter: EventFilter,
  { condition, count, order }: PageBounds,
) => {
  const inTime = eventsInTime(sql, filter)
  const conditions = (...more: ReadonlyArray<Fragment>): Fragment =>
    sql.and([
      sql`placed.organization_id = ${organizationId}`,
      sql`placed.event_id IS NOT NULL`,
      sql`placed.position ${condition}`,
      ...positionsInTime(sql, organizationId, filter),
      ...(filter.actor === undefined ? [] : [sql`placed.actor_id = ${filter.actor}`]),
      ...more,
    ])
  const joined = (columns: string) =>
    sql`CROSS JOIN ${eventByKey(sql, organizationId, columns, "placed.event_id")} AS event`
  if (filter.resources === undefined && filter.types === undefined && filter.actor === undefined) {
    return sql`
      SELECT event.*, placed.position::text AS position FROM event_positions placed ${joined(EVENT_COLUMNS)}
      WHERE ${conditions(sql`placed.position > ${prunedTo(sql, organizationId)}`, ...inTime)}
      ORDER BY placed.position ${order} LIMIT ${count}`
  }
  /** The first positions of a range, in an order that only its index has. */
  const first = (range: Fragment, before: Fragment) => sql`(
    SELECT placed.position, placed.event_id FROM event_positions placed
    ${inTime.length === 0 ? sql`` : joined(`occurred_at AS "timestamp"`)}
    WHERE ${conditions(range, ...inTime)} ORDER BY ${before} placed.position ${order} LIMIT ${count})`
  const merged = (wanted: Fragment, ranges: Fragment) => sql`
    SELECT event.*, placed.position::text AS position FROM (
      SELECT DISTINCT found.position, found.event_id FROM ${wanted} CROSS JOIN LATERAL (${ranges}) AS found
      ORDER BY found.position ${order} LIMIT ${count}
    ) AS placed ${joined(EVENT_COLUMNS)}
    ORDER BY placed.position ${order}`
  if (filter.resources !== undefined) {
    const named = filter.types === undefined ? sql`` : sql`AND placed.type = ANY(${filter.types}::text[])`
    const [own, owned] = SUBJECT_COLUMNS.map((name) => {
      const column = sql.literal(`placed.${name}`)
      return first(sql`${column} BETWEEN wanted.subject AND wanted.subject ${named}`, sql`${column} ${order},`)
    })
    return merged(
      sql`unnest(${filter.resources}::text[]) AS wanted (subject)`,
      sql`${own ?? sql``} UNION ALL ${owned ?? sql``}`,
    )
  }
  const wanted =
    filter.types === undefined
      ? typesOfActor(sql, organizationId, filter.actor ?? "")
      : sql`unnest(${filter.types}::text[]) AS wanted (type)`
  return merged(wanted, first(sql`placed.type = wanted.type`, sql``))
}
