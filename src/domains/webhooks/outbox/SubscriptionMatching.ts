/** Matches events with the endpoints that subscribe to them. Pure. */
import type { OutboxEntry } from "../../events/Outbox.ts"
import type { Subscriber } from "../endpoints/Repo.ts"

/** Whether the endpoint was subscribed to the event when it occurred. */
export const isSubscribed = (
  subscriber: Pick<Subscriber, "eventNames" | "createdAt">,
  event: Pick<OutboxEntry, "type" | "occurredAt">,
): boolean =>
  event.type !== null &&
  event.occurredAt !== null &&
  subscriber.createdAt.getTime() <= event.occurredAt.getTime() &&
  (subscriber.eventNames.includes("*") || subscriber.eventNames.includes(event.type))

/** An event and an endpoint that receives it. */
interface SubscriptionMatch {
  readonly entry: OutboxEntry
  readonly endpointId: string
}

/**
 * Matches events with the endpoints of their organizations. It stops before the event that would exceed `max` matches,
 * which keeps the transaction small. The first event is always taken.
 */
export const matchSubscriptions = (
  entries: ReadonlyArray<OutboxEntry>,
  subscribers: ReadonlyArray<Subscriber>,
  max: number,
): { readonly taken: ReadonlyArray<OutboxEntry>; readonly matches: ReadonlyArray<SubscriptionMatch> } => {
  const byOrganization = Map.groupBy(subscribers, ({ organizationId }) => organizationId)
  const taken: Array<OutboxEntry> = []
  const matches: Array<SubscriptionMatch> = []
  for (const entry of entries) {
    const subscribed = (byOrganization.get(entry.organizationId) ?? []).filter((subscriber) =>
      isSubscribed(subscriber, entry),
    )
    if (taken.length > 0 && matches.length + subscribed.length > max) break
    taken.push(entry)
    for (const { id } of subscribed) matches.push({ entry, endpointId: id })
  }
  return { taken, matches }
}
