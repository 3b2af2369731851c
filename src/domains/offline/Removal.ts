/** The rows of a removed organization in this domain. */
import { rowsIn } from "../../kernel/database/RemovedOrganizations.ts"

export const removal = rowsIn("offline_bundles", "offline_revocations", "offline_lists", "offline_ledgers")
