/**
 * The text of an event as it is stored: the body of a delivery, the leaf of the event log's tree and a line of its export. All are
 * the same bytes, so a receiver can prove what it was sent. Pure.
 */
import { Predicate, Schema } from "effect"
import { ActorReference, CredentialReference } from "../../../kernel/contract/Caller.ts"
import type { EventRecord } from "../../../kernel/contract/Event.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { ownerOf, resourceOf } from "../Rules.ts"

/** The column `actor`: who caused an event and, if it is known, with which credential. */
export const StoredActor = Schema.Struct({
  ...ActorReference.fields,
  credential: Schema.optionalKey(CredentialReference),
})
type StoredActor = typeof StoredActor.Type

/** The column `actor` of an event. */
export const storedActor = ({ actor, credential }: Pick<EventRecord, "actor" | "credential">): StoredActor =>
  credential == null ? actor : { ...actor, credential }

/** An event with its `data` and `previous` as they are stored: as texts, `data::text` and `previous::text`. */
export interface StoredEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: Date
  readonly organizationId: OrganizationId
  readonly actor: StoredActor
  readonly data: string
  readonly previous: string | null
}

/**
 * Serializes a stored event. The properties have a fixed order; `data` and `previous` are as they are stored, because parsing them
 * could lose digits of amounts. An event without a credential has the text that it had before there were any.
 */
export const eventText = ({ actor, data, id, organizationId, previous, timestamp, type }: StoredEvent): string => {
  const { credential } = actor
  const head = JSON.stringify({
    id,
    type,
    timestamp,
    organizationId,
    actor: { id: actor.id, name: actor.name },
    ...(credential && { credential: { id: credential.id, name: credential.name, slug: credential.slug } }),
  })
  return `${head.slice(0, -1)},"data":${data}${previous === null ? "" : `,"previous":${previous}`}}`
}

/**
 * The text of {@link eventText} of a row of `events`, in SQL: PostgreSQL and `JSON.stringify` escape the same characters of the strings
 * that a database can hold. `concat` instead of `||`, so that no row gives NULL.
 */
export const EVENT_TEXT = `concat('{"id":"', id, '","type":', to_json(type),
  ',"timestamp":"', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  '","organizationId":"', organization_id, '","actor":{"id":', actor->'id', ',"name":', actor->'name',
  CASE WHEN actor->'credential' IS NOT NULL THEN
    concat('},"credential":{"id":', actor#>'{credential,id}', ',"name":', actor#>'{credential,name}', ',"slug":', actor#>'{credential,slug}')
  END, '},"data":', data, CASE WHEN previous IS NOT NULL THEN ',"previous":' END, previous, '}')`

/** The leaf of a row of `events` in the tree of the event log, in SQL: the hash that `leafHash` gives its text. */
export const EVENT_LEAF = `sha256('\\x00'::bytea || convert_to(${EVENT_TEXT}, 'UTF8'))`

/**
 * Whether the columns that the filter `resource` of the stream compares are those of the event's `data`. An event of an earlier version
 * has no owner.
 */
export const isOfItsRecords = ({
  data,
  owner,
  resource,
  type,
}: Pick<StoredEvent, "data" | "type"> & { readonly resource: string | null; readonly owner: string | null }) => {
  const value: unknown = JSON.parse(data)
  const record = Predicate.isObject(value) ? value : {}
  return resourceOf(record) === resource && (owner === null || ownerOf(type, record) === owner)
}
