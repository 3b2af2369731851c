/** The rows of a removed organization in this domain. */
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = rowsIn(
  "entitlement_overrides",
  "term_notices",
  "term_schedules",
  "past_instance_terms",
  "instances",
)
