/** The rows of a removed organization in this domain. */
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"

// Triggers on entitlements and licenses store a new catalog version for each deleted row, so it goes last.
export const removal = rowsIn("entitlements", "catalog_versions")
