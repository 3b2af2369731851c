/** The event of a delivery, as the sender and the history find it. Pure. */
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import type { EventName } from "../../kernel/contract/Event.ts"
import type { StoredEvent } from "../events/log/EventText.ts"

/** What a delivery or an attempt finds of its event. Each is `null` if the event is no longer stored. */
export interface FoundEvent {
  readonly type: EventName | null
  readonly occurredAt: Date | null
  readonly actor: ActorReference | null
  readonly data: string | null
  readonly previous: string | null
}

/** The event with this id; `null` if it is no longer stored. */
export const eventOf = (
  key: { readonly organizationId: string; readonly eventId: string },
  { actor, data, occurredAt, previous, type }: FoundEvent,
): StoredEvent | null =>
  type === null || occurredAt === null || actor === null || data === null
    ? null
    : { id: key.eventId, type, timestamp: occurredAt, organizationId: key.organizationId, actor, data, previous }
