/** The event of a delivery, as the sender and the history find it. Pure. */
import { Schema } from "effect"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { StoredActor } from "../events/log/EventText.ts"
import type { StoredEvent } from "../events/log/EventText.ts"

/** What a delivery or an attempt finds of its event. Each is `null` if the event is no longer stored. */
export const FoundEvent = Schema.Struct({
  type: Schema.NullOr(Schema.String),
  occurredAt: Schema.NullOr(Schema.Date),
  actor: Schema.NullOr(StoredActor),
  data: Schema.NullOr(Schema.String),
  previous: Schema.NullOr(Schema.String),
})
export type FoundEvent = typeof FoundEvent.Type

/** The event with this id; `null` if it is no longer stored. */
export const eventOf = (
  key: { readonly organizationId: OrganizationId; readonly eventId: string },
  { actor, data, occurredAt, previous, type }: FoundEvent,
): StoredEvent | null =>
  type === null || occurredAt === null || actor === null || data === null
    ? null
    : { id: key.eventId, type, timestamp: occurredAt, organizationId: key.organizationId, actor, data, previous }
