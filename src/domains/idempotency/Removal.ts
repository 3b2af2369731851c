/** The stored responses of a removed organization. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { Removal } from "../../kernel/database/RemovedOrganizations.ts"
import { decodedColumn, returnedCount } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

const idsIn = decodedColumn("id", Schema.String)

/**
 * The table has no index by organization, which each keyed request would pay for. Its rows are found by the tokens and
 * memberships that sent the requests, so these are deleted later. A row that is missed expires within a day. The
 * senders are read first, because a cluster keeps them elsewhere.
 */
export const removalBy = (sendersOf: (sql: SqlClient, organizationId: OrganizationId) => Fragment): Removal =>
  Effect.map(PgClient.PgClient, (sql) => [
    {
      table: "idempotency_keys",
      deleteSome: Effect.fnUntraced(function* (organizationId: OrganizationId, count: number) {
        const senders = yield* idsIn(sql`${sendersOf(sql, organizationId)}`)
        return yield* returnedCount(sql`
          DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (
            SELECT ctid FROM idempotency_keys
            WHERE caller_id = ANY(${senders}::uuid[]) AND organization_id = ${organizationId}
            LIMIT ${count} FOR UPDATE SKIP LOCKED))
          RETURNING 1`)
      }),
    },
  ])
