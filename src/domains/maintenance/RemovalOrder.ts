/** The rows of an organization in all tables, in the order in which they can be deleted. */
import { tables } from "../../../migrations/tables.ts"
import type { Table } from "../../../migrations/tables.ts"
import { inOrder, rowsIn, rowsInPartitions } from "../../kernel/database/RemovedOrganizations.ts"
import type { Removal } from "../../kernel/database/RemovedOrganizations.ts"
import { removal as storedResponses } from "../idempotency/Removal.ts"

const removalOf = ({ name, removal }: Table): ReadonlyArray<Removal> => {
  if (removal === "never") return []
  if (removal === "by-sender") return [storedResponses]
  return [removal === "by-organization" ? rowsIn(name) : rowsInPartitions(name, ...removal)]
}

/** The order of `migrations/tables.ts`. Deletions emit no events, so the stream goes last. */
export const removalOrder = inOrder(...tables.flatMap(removalOf))
