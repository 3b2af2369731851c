/** The port by which entitlements read the groups that they are in. The domain `groups` provides it. */
import { Context } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Selects groups along with entitlements. */
export class GroupsSql extends Context.Service<
  GroupsSql,
  {
    /** The groups of a row of `entitlements`, as one JSON expression. */
    readonly ofRow: (sql: SqlClient, organizationId: OrganizationId) => Fragment
    /** The groups of each of these entitlements, as rows `(entitlement_id, records)`. */
    readonly ofEach: (sql: SqlClient, organizationId: OrganizationId, ids: Fragment) => Fragment
    /** The `FROM` and `WHERE` of the members `m` of the group with a slug. */
    readonly membersOf: (sql: SqlClient, organizationId: OrganizationId, slug: string) => Fragment
  }
>()("keyshelf/entitlements/GroupsSql") {}
