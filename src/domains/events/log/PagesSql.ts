/** SQL of pages of the stream: positions are found by the filters, and their events by their ids. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { EventFilter } from "../Model.ts"
import { eventByKey } from "./PlacingSql.ts"
import { boundsOf } from "../Rules.ts"

/** Beyond every position: the highest `bigint`. */
const END = "9223372036854775807"

const EVENT_COLUMNS = `id, type, occurred_at AS "timestamp", organization_id AS "organizationId", actor,
  data::text AS data, previous::text AS previous`

/** Where a page is: the condition that its positions meet, and their order. */
interface PageBounds {
  readonly condition: Fragment
  readonly order: Fragment
  readonly count: number
}

/** The last position of a stream up to which retention has deleted the events. Reading begins after it. */
export const prunedTo = (sql: SqlClient, organizationId: string): Fragment =>
  sql`coalesce((SELECT pruned_to FROM event_streams WHERE organization_id = ${organizationId}), 0)`

/** The position of the first stored event that occurred at an instant or later, or waits for its delivery. */
export const firstRetained = (sql: SqlClient, organizationId: string, from: Date, isWaiting: Fragment) => sql`
  SELECT placed.position::float8 AS position FROM event_positions placed
  CROSS JOIN ${eventByKey(sql, organizationId, "id, occurred_at", "placed.event_id")} AS event
  WHERE placed.organization_id = ${organizationId} AND placed.position > ${prunedTo(sql, organizationId)}
    AND (event.occurred_at >= ${from} OR ${isWaiting})
  ORDER BY placed.position LIMIT 1`

/** The stored events up to a position: a column of each. */
export const eventsUpTo = (sql: SqlClient, organizationId: string, position: number, column: string) => sql`
  SELECT event.${sql.literal(column)} FROM event_positions placed
  CROSS JOIN ${eventByKey(sql, organizationId, column, "placed.event_id")} AS event
  WHERE placed.organization_id = ${organizationId} AND placed.position > ${prunedTo(sql, organizationId)}
    AND placed.position <= ${position}`

/**
 * The condition on positions of a time range, without which a page would read the stream from its start, or to its end. The index of
 * ids finds the events that bound the positions.
 */
const positionsInTime = (sql: SqlClient, organizationId: string, filter: EventFilter): ReadonlyArray<Fragment> => {
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
const typesOfActor = (sql: SqlClient, organizationId: string, actor: string): Fragment => {
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

/**
 * The statement that reads events on one side of a position. With names or an actor, it reads one index range per name and merges the
 * ranges. So neither a rare nor a frequent name causes a scan of the whole stream.
 */
export const pageOf = (
  sql: SqlClient,
  organizationId: string,
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
  if (filter.resource !== undefined || (filter.types === undefined && filter.actor === undefined)) {
    const named = [
      filter.resource === undefined
        ? sql`placed.position > ${prunedTo(sql, organizationId)}`
        : sql`placed.resource = ${filter.resource}`,
      ...(filter.types === undefined ? [] : [sql`placed.type = ANY(${filter.types}::text[])`]),
    ]
    return sql`
      SELECT event.*, placed.position::text AS position FROM event_positions placed ${joined(EVENT_COLUMNS)}
      WHERE ${conditions(...named, ...inTime)} ORDER BY placed.position ${order} LIMIT ${count}`
  }
  const wanted =
    filter.types === undefined
      ? typesOfActor(sql, organizationId, filter.actor ?? "")
      : sql`unnest(${filter.types}::text[]) AS wanted (type)`
  return sql`
    SELECT event.*, placed.position::text AS position FROM (
      SELECT found.position, found.event_id FROM ${wanted}
      CROSS JOIN LATERAL (
        SELECT placed.position, placed.event_id FROM event_positions placed
        ${inTime.length === 0 ? sql`` : joined(`occurred_at AS "timestamp"`)}
        WHERE ${conditions(sql`placed.type = wanted.type`, ...inTime)}
        ORDER BY placed.position ${order} LIMIT ${count}
      ) AS found
      ORDER BY found.position ${order} LIMIT ${count}
    ) AS placed ${joined(EVENT_COLUMNS)}
    ORDER BY placed.position ${order}`
}
