/** The rows of a removed organization in this domain. */
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = rowsIn(
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
  "usage_events",
  "usage_totals",
)
