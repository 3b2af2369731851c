/** SQL of the usage of instances and entitlements as a whole: what its deletion takes along, and what it blocks. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Affected, AffectedInstance } from "../../kernel/contract/dryruns/Impact.ts"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import { executed } from "../../kernel/database/Statements.ts"
import { customersSql } from "../customers/CustomersSql.ts"
import { instancesSql } from "../instances/InstancesSql.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Reads and deletes usage as a whole. */
export class InstanceUsageRepo extends Context.Service<
  InstanceUsageRepo,
  {
    /**
     * Deletes the usage of a locked instance, which no foreign key cascades to. Deletes the totals first: this waits
     * for transactions that are counting, so that the next statements see their rows.
     */
    readonly deleteOf: (organizationId: OrganizationId, instanceId: string) => Effect.Effect<void>
    /** Instances with usage of an entitlement. */
    readonly instancesUsing: (
      organizationId: OrganizationId,
      entitlement: { readonly id: string },
    ) => Effect.Effect<Affected<AffectedInstance>>
  }
>()("keyshelf/usage/InstanceUsageRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(InstanceUsageRepo, make))
}

const make = Effect.map(PgClient.PgClient, (sql) => ({
  deleteOf: Effect.fnUntraced(function* (organizationId: OrganizationId, instanceId: string) {
    for (const table of ["usage_totals", "usage_events", "usage_unique_keys", "usage_days", "usage_key_buckets"]) {
      yield* executed(
        sql`DELETE FROM ${sql(table)} WHERE organization_id = ${organizationId} AND instance_id = ${instanceId}`,
      )
    }
    yield* executed(sql`DELETE FROM credits WHERE organization_id = ${organizationId} AND holder_id = ${instanceId}`)
  }),

  instancesUsing: (organizationId: OrganizationId, { id }: { readonly id: string }) =>
    affectedRows<AffectedInstance>()(
      sql,
      sql`
        SELECT DISTINCT ON (i.id) i.slug, c.slug AS customer FROM usage_totals t
        JOIN ${instancesSql.on("i", "t.instance_id")}
        JOIN ${customersSql.on("c", "i.customer_id")}
        WHERE t.organization_id = ${organizationId} AND t.entitlement_id = ${id} ORDER BY i.id`,
    ),
}))
