/**
 * The text of an event as it is stored: the body of a delivery, the leaf of the event log's tree and a line of its export. All are
 * the same bytes, so a receiver can prove what it was sent. Pure.
 */
import { Predicate } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { resourceOf } from "../Rules.ts"

/** An event with its `data` and `previous` as they are stored: as texts, `data::text` and `previous::text`. */
export interface StoredEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: Date
  readonly organizationId: string
  readonly actor: ActorReference
  readonly data: string
  readonly previous: string | null
}

/**
 * Serializes a stored event. The properties have a fixed order; `data` and `previous` are as they are stored, because parsing them
 * could lose digits of amounts.
 */
export const eventText = ({ actor, data, id, organizationId, previous, timestamp, type }: StoredEvent): string => {
  const head = JSON.stringify({ id, type, timestamp, organizationId, actor: { id: actor.id, name: actor.name } })
  return `${head.slice(0, -1)},"data":${data}${previous === null ? "" : `,"previous":${previous}`}}`
}

/**
 * The text of {@link eventText} of a row of `events`, in SQL: PostgreSQL and `JSON.stringify` escape the same characters of the strings
 * that a database can hold. `concat` instead of `||`, so that no row gives NULL.
 */
export const EVENT_TEXT = `concat('{"id":"', id, '","type":', to_json(type),
  ',"timestamp":"', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  '","organizationId":"', organization_id, '","actor":{"id":', actor->'id', ',"name":', actor->'name',
  '},"data":', data, CASE WHEN previous IS NOT NULL THEN ',"previous":' END, previous, '}')`

/** The leaf of a row of `events` in the tree of the event log, in SQL: the hash that `leafHash` gives its text. */
export const EVENT_LEAF = `sha256('\\x00'::bytea || convert_to(${EVENT_TEXT}, 'UTF8'))`

/** Whether the column that the filter `resource` of the stream compares is the one of the event's `data`. */
export const isOfItsResource = ({ data, resource }: { readonly data: string; readonly resource: string | null }) => {
  const value: unknown = JSON.parse(data)
  return (Predicate.isObject(value) ? resourceOf(value) : null) === resource
}
