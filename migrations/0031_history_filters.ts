import { statements } from "./statements.ts"

export default statements(
  // Events of one actor. The type stands before the position, so that an actor's rare types are one range each; without
  // the filter `type`, a page merges the ranges of all types that the actor has.
  `CREATE INDEX events_actor ON events (organization_id, (actor->>'id'), type, position) WHERE position IS NOT NULL`,
  // INCLUDE holds the other filter columns, so that attempts are filtered without reading the rows.
  `CREATE INDEX webhook_attempts_status ON webhook_attempts (organization_id, status_code, "timestamp", id)
    INCLUDE (state, event_name)`,
  // The rare status of one endpoint, among many attempts of other endpoints with the same status.
  `CREATE INDEX webhook_attempts_endpoint_status ON webhook_attempts
    (organization_id, endpoint_id, status_code, "timestamp", id) INCLUDE (state, event_name)`,
)
