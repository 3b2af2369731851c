/** SQL that sums what credits paid in months whose events were dropped. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { decoded, returnedCount } from "../../../kernel/database/Statements.ts"

// Limits of one transaction, which usage of these credits waits for.
const MAX_CREDITS = 100
const MAX_USES = 10_000

const CreditKey = Schema.Struct({ organizationId: Schema.String, id: Schema.String })

/** Uses of credits whose events were dropped. */
export class CreditUsesRepo extends Context.Service<
  CreditUsesRepo,
  {
    /**
     * Deletes uses of some credits from before the dropped months' end, and adds them up in their credits. Skips credits that another
     * transaction has locked. Returns how many credits it worked on. What they have paid stays the same at each step.
     */
    readonly sum: (droppedUntil: Date) => Effect.Effect<number>
  }
>()("keyshelf/usage/partitions/CreditUsesRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(CreditUsesRepo, make))
}

const make = Effect.map(PgClient.PgClient, (sql) => ({
  sum: Effect.fnUntraced(function* (droppedUntil: Date) {
    const summed = sql.literal(`coalesce(dropped_until, '-infinity'::timestamptz)`)
    const keys = yield* decoded(CreditKey)(sql`
      SELECT organization_id AS "organizationId", id FROM credits WHERE ${summed} < ${droppedUntil}
      ORDER BY ${summed}, organization_id, id LIMIT ${MAX_CREDITS} FOR NO KEY UPDATE SKIP LOCKED`)
    if (keys.length === 0) return 0
    const old = sql`FROM jsonb_to_recordset(${sql.json(keys)}) AS k ("organizationId" uuid, id uuid)
        CROSS JOIN LATERAL (
          SELECT u.ctid AS location FROM credit_uses u
          WHERE u.organization_id = k."organizationId" AND u.credit_id = k.id AND u.at < ${droppedUntil} OFFSET 0
        ) own LIMIT ${MAX_USES}`
    const removed = yield* returnedCount(sql`
      WITH gone AS (
        DELETE FROM credit_uses WHERE ctid = ANY (ARRAY (SELECT own.location ${old}))
        RETURNING organization_id, credit_id, quantity, voided_at
      ), summed AS (
        UPDATE credits c SET dropped_used = c.dropped_used + own.quantity FROM (
          SELECT organization_id, credit_id, sum(quantity) AS quantity FROM gone WHERE voided_at IS NULL GROUP BY 1, 2
        ) own
        WHERE c.organization_id = own.organization_id AND c.id = own.credit_id
      )
      SELECT 1 FROM gone`)
    if (removed < MAX_USES) {
      yield* returnedCount(sql`
        UPDATE credits c SET dropped_until = ${droppedUntil}
        FROM jsonb_to_recordset(${sql.json(keys)}) AS k ("organizationId" uuid, id uuid)
        WHERE c.organization_id = k."organizationId" AND c.id = k.id`)
    }
    return keys.length
  }),
}))
