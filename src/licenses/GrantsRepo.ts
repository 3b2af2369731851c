/** SQL of what licenses grant. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { EntitlementType } from "../entitlements/Model.ts"
import { behindInDisplayOrder } from "../kernel/Page.ts"
import type { Position } from "../kernel/Page.ts"
import { record, records, touched } from "../kernel/Sql.ts"
import type { Grant, GrantValue } from "./Model.ts"

/** A grant with what decides about it and where it stands in lists. */
export interface GrantRow extends Grant {
  readonly entitlementId: string
  readonly entitlementType: EntitlementType
  readonly displayOrder: number
}

interface StoredGrant {
  readonly licenseId: string
  readonly entitlementId: string
  readonly value: GrantValue
  readonly overagePercent: number
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const grants = sql.literal(`SELECT entitlement.id AS "entitlementId", entitlement.slug AS "entitlementSlug",
      entitlement.type AS "entitlementType", entitlement.display_order AS "displayOrder", license_grant.value,
      license_grant.overage_percent AS "overagePercent"
    FROM license_entitlements license_grant
    JOIN entitlements entitlement ON entitlement.organization_id = license_grant.organization_id
      AND entitlement.id = license_grant.entitlement_id`)

  return {
    /** Whether the license did not grant the entitlement yet and the row is stored. */
    insert: (organizationId: string, row: StoredGrant) =>
      touched(sql`
        INSERT INTO license_entitlements (organization_id, license_id, entitlement_id, value, overage_percent)
        VALUES (${organizationId}, ${row.licenseId}, ${row.entitlementId}, ${sql.json(row.value)},
          ${row.overagePercent})
        ON CONFLICT DO NOTHING
        RETURNING entitlement_id`),

    list: (organizationId: string, licenseId: string, after: Position | null, count: number) => {
      const [displayOrder, id] = behindInDisplayOrder(after)
      return records<GrantRow>()(sql`
        ${grants}
        WHERE license_grant.organization_id = ${organizationId} AND license_grant.license_id = ${licenseId}
          AND (entitlement.display_order, entitlement.id) > (${displayOrder}, ${id})
        ORDER BY entitlement.display_order, entitlement.id LIMIT ${count}`)
    },

    lock: (organizationId: string, licenseId: string, entitlementSlug: string) =>
      record<GrantRow>()(sql`
        ${grants}
        WHERE license_grant.organization_id = ${organizationId} AND license_grant.license_id = ${licenseId}
          AND entitlement.slug = ${entitlementSlug}
        FOR UPDATE OF license_grant`),

    update: (organizationId: string, row: StoredGrant) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE license_entitlements
          SET value = ${sql.json(row.value)}, overage_percent = ${row.overagePercent}
          WHERE organization_id = ${organizationId} AND license_id = ${row.licenseId}
            AND entitlement_id = ${row.entitlementId}`),
      ),

    delete: (organizationId: string, licenseId: string, entitlementId: string) =>
      Effect.asVoid(
        Effect.orDie(sql`
          DELETE FROM license_entitlements
          WHERE organization_id = ${organizationId} AND license_id = ${licenseId}
            AND entitlement_id = ${entitlementId}`),
      ),
  }
})

/** Rows of grants. */
export class LicenseGrantsRepo extends Context.Service<LicenseGrantsRepo, Effect.Success<typeof make>>()(
  "keyshelf/licenses/GrantsRepo",
) {
  static readonly layer = Layer.effect(LicenseGrantsRepo, make)
}
