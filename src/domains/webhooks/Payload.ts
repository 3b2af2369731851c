/** The body of a delivery (contract, section 6). Pure: the sender and the history build the same text from one event. */
import type { EventRecord } from "../../kernel/contract/Event.ts"

/**
 * The exact text that is sent for an event. Members stand in a fixed order and `data` keeps the order of its stored text,
 * so that the text built for the history is the one that was sent, byte for byte.
 */
export const serializePayload = ({ actor, data, id, organizationId, timestamp, type }: EventRecord): string =>
  JSON.stringify({ id, type, timestamp, organizationId, actor: { id: actor.id, name: actor.name }, data })
