/** Which endpoints an event goes to. Pure. */
import type { OutboxEntry } from "../../events/Outbox.ts"
import type { Subscriber } from "../endpoints/Repo.ts"

/** Whether the endpoint subscribed to the event when it occurred. */
export const gets = (
  subscriber: Pick<Subscriber, "eventNames" | "createdAt">,
  event: Pick<OutboxEntry, "type" | "occurredAt">,
): boolean =>
  event.type !== null &&
  event.occurredAt !== null &&
  subscriber.createdAt.getTime() <= event.occurredAt.getTime() &&
  (subscriber.eventNames.includes("*") || subscriber.eventNames.includes(event.type))

/** An event for an endpoint. */
export interface Match {
  readonly entry: OutboxEntry
  readonly endpointId: string
}

/**
 * Matches events with the endpoints of their organizations. It ends before the event that would pass `most` matches, so
 * that a transaction stays small; the first event is always taken.
 */
export const matchesOf = (
  entries: ReadonlyArray<OutboxEntry>,
  subscribers: ReadonlyArray<Subscriber>,
  most: number,
): { readonly taken: ReadonlyArray<OutboxEntry>; readonly matches: ReadonlyArray<Match> } => {
  const byOrganization = Map.groupBy(subscribers, ({ organizationId }) => organizationId)
  const taken: Array<OutboxEntry> = []
  const matches: Array<Match> = []
  for (const entry of entries) {
    const found = (byOrganization.get(entry.organizationId) ?? []).filter((subscriber) => gets(subscriber, entry))
    if (taken.length > 0 && matches.length + found.length > most) break
    taken.push(entry)
    for (const { id } of found) matches.push({ entry, endpointId: id })
  }
  return { taken, matches }
}
