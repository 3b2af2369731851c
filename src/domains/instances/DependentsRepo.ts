/** SQL of the instances that need a record of an earlier domain. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Affected, AffectedInstance } from "../../kernel/contract/dryruns/Impact.ts"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import { returnedRow } from "../../kernel/database/Statements.ts"
import { customersSql } from "../customers/CustomersSql.ts"
import type { LicensedInstances } from "../licenses/LicensedInstances.ts"
import { holdersOf } from "./addons/AddOnsSql.ts"
import { instancesSql } from "./InstancesSql.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

interface Needed {
  readonly id: string
}

/** Reads the instances that need a record. */
export class DependentsRepo extends Context.Service<
  DependentsRepo,
  {
    /** The instances of a customer or in a zone. */
    readonly with: (
      column: "customer_id" | "deployment_zone_id",
    ) => (organizationId: OrganizationId, needed: Needed) => Effect.Effect<Affected<AffectedInstance>>
    /** The instances with a license version, or with an add-on of it that is in force at an instant or starts later. */
    readonly licensed: (
      organizationId: OrganizationId,
      license: Needed,
      at: Date,
    ) => Effect.Effect<Affected<AffectedInstance>>
    /** Instances with an override of an entitlement that is in force at an instant or starts later. */
    readonly overriding: (
      organizationId: OrganizationId,
      entitlement: Needed,
      at: Date,
    ) => Effect.Effect<Affected<AffectedInstance>>
  } & LicensedInstances["Service"]
>()("keyshelf/instances/DependentsRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(DependentsRepo, make))
}

const make = Effect.map(PgClient.PgClient, (sql) =>
  DependentsRepo.of({
    with: (column) => (organizationId, needed) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
          SELECT i.slug, c.slug AS customer FROM instances i
          JOIN ${customersSql.on("c", "i.customer_id")}
          WHERE i.organization_id = ${organizationId} AND i.${sql(column)} = ${needed.id} ORDER BY i.id`,
      ),

    licensed: (organizationId, license, at) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
          SELECT i.slug, c.slug AS customer FROM ${holdersOf(sql, { organizationId, license: sql`${license.id}`, at })} held
          JOIN ${instancesSql.as("i")} ON i.organization_id = ${organizationId} AND i.id = held.id
          JOIN ${customersSql.on("c", "i.customer_id")}
          ORDER BY i.id`,
      ),

    overriding: (organizationId, entitlement, at) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
          SELECT DISTINCT ON (i.id) i.slug, c.slug AS customer FROM entitlement_overrides o
          JOIN ${instancesSql.on("i", "o.instance_id")}
          JOIN ${customersSql.on("c", "i.customer_id")}
          WHERE o.organization_id = ${organizationId} AND o.entitlement_id = ${entitlement.id} AND o.ended_at IS NULL
            AND (o.ends_at IS NULL OR o.ends_at > ${at}) ORDER BY i.id`,
      ),

    // The index of end dates serves it.
    hasLateEnd: (organizationId, { after, licenseId }) =>
      returnedRow(sql`
        SELECT 1 FROM instances WHERE organization_id = ${organizationId} AND license_id = ${licenseId}
          AND grace_days IS NULL AND end_license_date > ${after} LIMIT 1`),
  }),
)
