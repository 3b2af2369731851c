/** The rows of an organization in all tables, in the order in which they can be deleted. */
import { tables } from "../../../migrations/tables.ts"
import type { Table } from "../../../migrations/tables.ts"
import { inOrder, rowsIn, rowsInPartitions } from "../../kernel/database/RemovedOrganizations.ts"
import type { Removal } from "../../kernel/database/RemovedOrganizations.ts"
import { credentialIds } from "../access/tokens/TokensSql.ts"
import { removalBy } from "../idempotency/Removal.ts"
import { membershipIds } from "../people/PeopleSql.ts"

/** The responses to the tokens and memberships of an organization. */
const storedResponses = removalBy(
  (sql, organizationId) => sql`${credentialIds(sql, organizationId)} UNION ALL ${membershipIds(sql, organizationId)}`,
)

const removalOf = ({ name, removal }: Table): ReadonlyArray<Removal> => {
  if (removal === "never") return []
  if (removal === "by-sender") return [storedResponses]
  return [removal === "by-organization" ? rowsIn(name) : rowsInPartitions(name, ...removal)]
}

/** The order of `migrations/tables.ts`. Deletions emit no events, so the stream goes last. */
export const removalOrder = inOrder(...tables.flatMap(removalOf))
