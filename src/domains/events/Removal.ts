/** The rows of a removed organization in this domain. */
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = rowsIn("webhook_outbox", "events", "event_streams")
