/** The rows of a removed organization in this domain. */
import { inOrder, rowsIn, rowsInPartitions } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = inOrder(
  rowsIn("webhook_queue", "webhook_lanes"),
  rowsInPartitions("webhook_attempts", "timestamp", "id"),
  rowsIn("webhook_secrets", "webhook_endpoints"),
)
