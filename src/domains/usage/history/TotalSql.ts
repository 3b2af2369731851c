/** SQL that names one total: the condition for its rows in the tables of usage. */
import { Schema } from "effect"
import type { PgClient } from "@effect/sql-pg"
import type { Fragment } from "effect/sql/Statement"
import { TotalKey } from "../ledger/Account.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** Names one total of all organizations. */
export const StoredTotalKey = Schema.Struct({ ...TotalKey.fields, organizationId: OrganizationId })
export type StoredTotalKey = typeof StoredTotalKey.Type

/** The rows of a total. `table` is the table's alias with a dot. */
export const ofTotal =
  (sql: PgClient.PgClient) =>
  ({ entitlementId, instanceId, organizationId, periodStart }: StoredTotalKey, table = ""): Fragment => {
    const prefix = sql.literal(table)
    return sql`${prefix}organization_id = ${organizationId} AND ${prefix}instance_id = ${instanceId}
      AND ${prefix}entitlement_id = ${entitlementId} AND ${prefix}period_start = ${periodStart}`
  }
