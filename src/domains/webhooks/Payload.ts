/** The body of a delivery (contract, section 6). The sender and the history build the same text from an event. Pure. */
import type { EventRecord } from "../../kernel/contract/Event.ts"

/**
 * Serializes an event exactly as it is sent. The properties have a fixed order, and `data` keeps the order of its
 * stored text. The text that the history builds is therefore the text that was sent, byte for byte.
 */
export const serializePayload = ({ actor, data, id, organizationId, previous, timestamp, type }: EventRecord): string =>
  // JSON has no `undefined`: an event without `previous` does not have the property.
  JSON.stringify({ id, type, timestamp, organizationId, actor: { id: actor.id, name: actor.name }, data, previous })
