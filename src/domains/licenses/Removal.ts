/** The rows of a removed organization in this domain. */
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = rowsIn(
  "past_license_grants",
  "past_license_graces",
  "license_entitlements",
  "licenses",
  "license_families",
)
