/** The rows of a removed organization in this domain. */
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = rowsIn("webhook_outbox", "event_arrivals", "event_positions", "events", "event_streams")
