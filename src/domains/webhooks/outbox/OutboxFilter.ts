/** Selects the events that enter the outbox. */
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { OutboxCondition } from "../../events/OutboxSql.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/**
 * The events that enter the outbox.
 * `subscribed` (default): those of organizations with an enabled endpoint, so that other organizations store no outbox
 * rows.
 * `all`: for an external provider, which alone knows the subscribers.
 */
export const OutboxSelection = Context.Reference<"subscribed" | "all">(
  "keyshelf.reference/webhooks/outbox/OutboxSelection",
  {
    defaultValue: () => "subscribed",
  },
)

const hasSubscribers = (sql: SqlClient, organizationId: OrganizationId) => sql`EXISTS (
  SELECT 1 FROM webhook_endpoints endpoint
  WHERE endpoint.organization_id = ${organizationId} AND endpoint.disabled_at IS NULL)`

/** Provides the condition to `domains/events`, which may not know who subscribes. */
export const layer = Layer.effect(
  OutboxCondition,
  Effect.map(OutboxSelection, (which) => (which === "all" ? undefined : hasSubscribers)),
)
