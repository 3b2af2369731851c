/** SQL that places events: gives them their position in the stream and their leaf in the event log, in one row of `event_positions`. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { rowByKey } from "../../../kernel/database/RowsByKey.ts"
import { EVENT_LEAF } from "./EventText.ts"

/** The columns that {@link insertPlaced} takes from an event. */
export const PLACED_COLUMNS = `id, type, resource, owner, actor->>'id' AS actor_id, ${EVENT_LEAF} AS leaf`

/** The event with a key: some of its columns, to be joined `LATERAL`. The organization is a parameter, or a column of the rows before. */
export const eventByKey = (sql: SqlClient, organization: Fragment | string, columns: string, key: string): Fragment =>
  rowByKey(sql, columns, { table: "events", within: sql`organization_id = ${organization}`, column: "id", key })

/**
 * The statement that gives positions to the rows of `placed`: they have their organization, the columns {@link PLACED_COLUMNS}, and
 * `number` from 1. The first one gets the position after the head of the stream.
 */
export const insertPlaced = (sql: SqlClient, head: Fragment, placed: Fragment) => sql`
  INSERT INTO event_positions (organization_id, position, event_id, leaf, type, resource, owner, actor_id)
  SELECT placed.organization_id, ${head} + placed.number, placed.id, placed.leaf, placed.type, placed.resource, placed.owner,
    placed.actor_id
  FROM ${placed}`

/**
 * The statement that moves the heads of streams: the rows of `placed` have an organization and a `count`. The tree of the event log
 * follows, if it may (`isSealed`) and reached to the head before.
 */
export const advanceHeads = (sql: SqlClient, isSealed: boolean, placed: Fragment) => sql`
  INSERT INTO event_streams (organization_id, head, sealed_to)
  SELECT organization_id, count, CASE WHEN ${isSealed}::boolean THEN count ELSE 0 END FROM ${placed}
  ON CONFLICT (organization_id) DO UPDATE SET head = event_streams.head + excluded.head,
    sealed_to = event_streams.sealed_to
      + CASE WHEN event_streams.sealed_to = event_streams.head THEN excluded.sealed_to ELSE 0 END
  RETURNING organization_id AS "organizationId", head::float8 AS head, base::float8 AS base, sealed_to::float8 AS "sealedTo"`
