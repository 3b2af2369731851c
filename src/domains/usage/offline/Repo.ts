/** SQL of what ledgers brought. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { executed, records } from "../../../kernel/database/Statements.ts"
import type { TotalKey } from "../ledger/Account.ts"
import type { Growth } from "./Rules.ts"

/** Stores and reads what ledgers brought. */
export class OfflineUsageRepo extends Context.Service<
  OfflineUsageRepo,
  {
    /** Adds what a ledger brought to the periods of locked totals. */
    readonly add: (organizationId: string, growths: ReadonlyArray<Growth>) => Effect.Effect<void>
    /** What ledgers brought in these periods. */
    readonly find: (
      organizationId: string,
      among: ReadonlyArray<TotalKey>,
    ) => Effect.Effect<ReadonlyArray<TotalKey & { readonly quantity: string }>>
  }
>()("keyshelf/usage/offline/Repo") {
  static readonly layer = Layer.effect(
    OfflineUsageRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const keyColumns = sql.literal(`"instanceId" uuid, "entitlementId" uuid, "periodStart" timestamptz`)

  return {
    add: (organizationId: string, growths: ReadonlyArray<Growth>) =>
      executed(sql`
        INSERT INTO offline_period_usage AS brought (organization_id, instance_id, entitlement_id, period_start, quantity)
        SELECT ${organizationId}::uuid, "instanceId", "entitlementId", "periodStart", quantity
        FROM jsonb_to_recordset(${sql.json(growths)}) AS grown (${keyColumns}, quantity numeric)
        ON CONFLICT (organization_id, instance_id, entitlement_id, period_start)
          DO UPDATE SET quantity = brought.quantity + excluded.quantity`),

    find: (organizationId: string, among: ReadonlyArray<TotalKey>) =>
      records<TotalKey & { readonly quantity: string }>()(sql`
        SELECT brought.instance_id AS "instanceId", brought.entitlement_id AS "entitlementId",
          brought.period_start AS "periodStart", brought.quantity::text AS quantity
        FROM jsonb_to_recordset(${sql.json(among)}) AS asked (${keyColumns})
        JOIN offline_period_usage brought ON brought.organization_id = ${organizationId}
          AND brought.instance_id = asked."instanceId" AND brought.entitlement_id = asked."entitlementId"
          AND brought.period_start = asked."periodStart"`),
  }
})
