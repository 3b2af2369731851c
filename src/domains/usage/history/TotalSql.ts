/** SQL that names one total: the condition for its rows in the tables of usage. */
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"
import type { TotalKey } from "../ledger/Account.ts"

/** Names one total of all organizations. */
export type StoredTotalKey = TotalKey & { readonly organizationId: string }

/** The rows of a total. `table` is the table's alias with a dot. */
export const ofTotal =
  (sql: PgClient.PgClient) =>
  ({ entitlementId, instanceId, organizationId, periodStart }: StoredTotalKey, table = ""): Fragment => {
    const prefix = sql.literal(table)
    return sql`${prefix}organization_id = ${organizationId} AND ${prefix}instance_id = ${instanceId}
      AND ${prefix}entitlement_id = ${entitlementId} AND ${prefix}period_start = ${periodStart}`
  }
