/** SQL of what ledgers brought. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { decoded, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { TotalKey } from "../ledger/Account.ts"
import type { Growth } from "./Rules.ts"

/** What ledgers brought in a period; a decimal. */
const Brought = Schema.Struct({ ...TotalKey.fields, quantity: Schema.String })

/** Stores and reads what ledgers brought. */
export class OfflineUsageRepo extends Context.Service<
  OfflineUsageRepo,
  {
    /** Adds what a ledger brought to the periods of locked totals. */
    readonly add: (organizationId: OrganizationId, growths: ReadonlyArray<Growth>) => Effect.Effect<void>
    /** What ledgers brought in these periods. */
    readonly find: (
      organizationId: OrganizationId,
      among: ReadonlyArray<TotalKey>,
    ) => Effect.Effect<ReadonlyArray<typeof Brought.Type>>
  }
>()("keyshelf/usage/siteusage/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(OfflineUsageRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const keyColumns = sql.literal(`"instanceId" uuid, "entitlementId" uuid, "periodStart" timestamptz`)

  return OfflineUsageRepo.of({
    add: (organizationId, growths) =>
      executed(sql`
        INSERT INTO offline_period_usage AS brought (organization_id, instance_id, entitlement_id, period_start, quantity)
        SELECT ${organizationId}::uuid, "instanceId", "entitlementId", "periodStart", quantity
        FROM jsonb_to_recordset(${sql.json(growths)}) AS grown (${keyColumns}, quantity numeric)
        ON CONFLICT (organization_id, instance_id, entitlement_id, period_start)
          DO UPDATE SET quantity = brought.quantity + excluded.quantity`),

    find: (organizationId, among) =>
      decoded(Brought)(sql`
        SELECT brought.instance_id AS "instanceId", brought.entitlement_id AS "entitlementId",
          brought.period_start AS "periodStart", brought.quantity::text AS quantity
        FROM jsonb_to_recordset(${sql.json(among)}) AS asked (${keyColumns})
        JOIN offline_period_usage brought ON brought.organization_id = ${organizationId}
          AND brought.instance_id = asked."instanceId" AND brought.entitlement_id = asked."entitlementId"
          AND brought.period_start = asked."periodStart"`),
  })
})
