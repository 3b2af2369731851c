/** The stored responses of a removed organization. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Removal } from "../../kernel/database/RemovedOrganizations.ts"
import { records } from "../../kernel/database/Statements.ts"

/**
 * The table has no index by organization, which each keyed request would pay for. Its rows are found by the tokens and
 * memberships that sent the requests, so these are deleted later. A row that is missed expires within a day. The
 * senders are read first, because a cluster keeps them elsewhere.
 */
export const removal: Removal = Effect.map(PgClient.PgClient, (sql) => [
  {
    table: "idempotency_keys",
    deleteSome: Effect.fnUntraced(function* (organizationId: string, count: number) {
      const senders = yield* records<{ id: string }>()(sql`
        SELECT id FROM credentials WHERE organization_id = ${organizationId}
        UNION ALL SELECT id FROM memberships WHERE organization_id = ${organizationId}`)
      const deleted = yield* records()(sql`
        DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (
          SELECT ctid FROM idempotency_keys
          WHERE caller_id = ANY(${senders.map(({ id }) => id)}::uuid[]) AND organization_id = ${organizationId}
          LIMIT ${count} FOR UPDATE SKIP LOCKED))
        RETURNING 1`)
      return deleted.length
    }),
  },
])
