/** The body of a delivery (contract, section 6). The sender and the history build the same text from an event. Pure. */
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import type { EventName, EventRecord } from "../../kernel/contract/Event.ts"

/** What a delivery or an attempt finds of its event. Each is `null` if the event is no longer stored. */
export interface StoredEvent {
  readonly type: EventName | null
  readonly occurredAt: Date | null
  readonly actor: ActorReference | null
  readonly data: Record<string, unknown> | null
  readonly previous?: Record<string, unknown>
}

/** The event with this id; `null` if it is no longer stored. */
export const eventOf = (
  key: { readonly organizationId: string; readonly eventId: string },
  { actor, data, occurredAt, previous, type }: StoredEvent,
): EventRecord | null =>
  type === null || occurredAt === null || actor === null || data === null
    ? null
    : {
        id: key.eventId,
        type,
        timestamp: occurredAt,
        organizationId: key.organizationId,
        actor,
        data,
        ...(previous === undefined ? {} : { previous }),
      }

/**
 * Serializes an event exactly as it is sent. The properties have a fixed order, and `data` keeps the order of its
 * stored text. The text that the history builds is therefore the text that was sent, byte for byte.
 */
export const serializePayload = ({ actor, data, id, organizationId, previous, timestamp, type }: EventRecord): string =>
  // JSON has no `undefined`: an event without `previous` does not have the property.
  JSON.stringify({ id, type, timestamp, organizationId, actor: { id: actor.id, name: actor.name }, data, previous })
