/** SQL that stores an event in the outbox along with the event itself. */
import { Context } from "effect"

/**
 * The condition on the row `event` under which an event enters the outbox, in SQL; without it all events do. The
 * webhooks domain knows the subscribers, so the app provides it.
 */
export const OutboxCondition = Context.Reference<string | undefined>("keyshelf.reference/events/OutboxCondition", {
  defaultValue: () => undefined,
})

/** The statement that inserts the event of the CTE `event` into the outbox, if it meets the condition. */
export const outboxInsertion = (condition: string | undefined): string =>
  `INSERT INTO webhook_outbox (organization_id, event_id, due_at)
    SELECT organization_id, id, occurred_at FROM event${condition === undefined ? "" : ` WHERE ${condition}`}`
