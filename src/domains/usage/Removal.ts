/** The rows of a removed organization in this domain. */
import { inOrder, rowsIn, rowsInPartitions } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = inOrder(
  rowsIn(
    "offline_allowances",
    "offline_period_usage",
    "usage_leases",
    "usage_seats",
    "usage_reservations",
    "usage_transactions",
    "usage_event_ids",
    "usage_hours",
    "usage_rollups",
    "usage_unique_keys",
  ),
  rowsInPartitions("usage_events", "instance_id", "entitlement_id", "period_start", "ordinal"),
  rowsIn("usage_drop_changes", "usage_days", "usage_key_buckets", "usage_totals"),
)
