/** The stored responses of a removed organization. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Removal } from "../../kernel/database/RemovedOrganizations.ts"

/**
 * The table has no index by organization, which each keyed request would pay for. Its rows are found by the tokens and
 * memberships that sent the requests, so these are deleted later. A row that is missed expires within a day.
 */
export const removal: Removal = Effect.map(PgClient.PgClient, (sql) => [
  {
    table: "idempotency_keys",
    deleteSome: (organizationId, count) =>
      Effect.map(
        Effect.orDie(sql`
          DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (
            SELECT stored.ctid FROM (
              SELECT id FROM credentials WHERE organization_id = ${organizationId}
              UNION ALL SELECT id FROM memberships WHERE organization_id = ${organizationId}
            ) AS sender
            JOIN idempotency_keys stored ON stored.caller_id = sender.id
            WHERE stored.organization_id = ${organizationId}
            LIMIT ${count} FOR UPDATE OF stored SKIP LOCKED))
          RETURNING 1`),
        (rows) => rows.length,
      ),
  },
])
