/** SQL of grants. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import type { EntitlementType } from "../../entitlements/Model.ts"
import { afterInDisplayOrder } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { executed, record, records, returnedRow } from "../../../kernel/database/Statements.ts"
import { storedGrantValue } from "../Model.ts"
import type { Grant, GrantValue } from "../Model.ts"

/** A grant with the type and the list position of its entitlement. */
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

interface TextRow extends Omit<GrantRow, "value"> {
  readonly value: string
}

const rowOf = (row: TextRow): GrantRow => ({
  ...row,
  value: storedGrantValue(row.value),
})

/** The time at which a grant changes. */
interface Change {
  readonly at: Date
}

const GRANTS = `SELECT entitlement.id AS "entitlementId", entitlement.slug AS "entitlementSlug",
      entitlement.type AS "entitlementType", entitlement.display_order AS "displayOrder", license_grant.value::text AS value,
      license_grant.overage_percent AS "overagePercent"
    FROM license_entitlements license_grant
    JOIN entitlements entitlement ON entitlement.organization_id = license_grant.organization_id
      AND entitlement.id = license_grant.entitlement_id`

/** Stores and reads grants. */
export class LicenseGrantsRepo extends Context.Service<
  LicenseGrantsRepo,
  {
    /** Stores the grant and returns whether the license did not grant the entitlement yet. */
    readonly insert: (organizationId: string, row: StoredGrant, change: Change) => Effect.Effect<boolean>
    /** The grants of a license after a position, in the display order of their entitlements. */
    readonly list: (
      organizationId: string,
      licenseId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<GrantRow>>
    /** Locks the grant of an entitlement until the transaction ends. None if the license does not grant it. */
    readonly lock: (
      organizationId: string,
      licenseId: string,
      entitlementSlug: string,
    ) => Effect.Effect<Option.Option<GrantRow>>
    /** Updates a locked grant. Stores the previous one if it changes. */
    readonly update: (organizationId: string, row: StoredGrant, change: Change) => Effect.Effect<void>
    /** Deletes a grant, and stores it as a past one. */
    readonly delete: (
      organizationId: string,
      licenseId: string,
      entitlementId: string,
      change: Change,
    ) => Effect.Effect<void>
  }
>()("keyshelf/licenses/LicenseGrantsRepo") {
  static readonly layer = Layer.effect(
    LicenseGrantsRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  // Stores the previous grant with every change, for checks of a past time.
  const past = sql.literal(`INSERT INTO past_license_grants (organization_id, license_id, entitlement_id, until, value,
    overage_percent)`)

  return {
    insert: Effect.fnUntraced(function* (organizationId: string, row: StoredGrant, { at }: Change) {
      const isNew = yield* returnedRow(sql`
        INSERT INTO license_entitlements (organization_id, license_id, entitlement_id, value, overage_percent)
        VALUES (${organizationId}, ${row.licenseId}, ${row.entitlementId}, ${sql.json(row.value)},
          ${row.overagePercent})
        ON CONFLICT DO NOTHING
        RETURNING entitlement_id`)
      if (isNew) {
        yield* executed(sql`
          ${past} VALUES (${organizationId}, ${row.licenseId}, ${row.entitlementId}, ${at}, NULL, NULL)
          ON CONFLICT DO NOTHING`)
      }
      return isNew
    }),

    list: (organizationId: string, licenseId: string, after: Position | null, count: number) => {
      const [displayOrder, id] = afterInDisplayOrder(after)
      return Effect.map(
        records<TextRow>()(sql`
          ${sql.literal(GRANTS)}
          WHERE license_grant.organization_id = ${organizationId} AND license_grant.license_id = ${licenseId}
            AND (entitlement.display_order, entitlement.id) > (${displayOrder}, ${id})
          ORDER BY entitlement.display_order, entitlement.id LIMIT ${count}`),
        (rows) => rows.map(rowOf),
      )
    },

    lock: (organizationId: string, licenseId: string, entitlementSlug: string) =>
      Effect.map(
        record<TextRow>()(sql`
          ${sql.literal(GRANTS)}
          WHERE license_grant.organization_id = ${organizationId} AND license_grant.license_id = ${licenseId}
            AND entitlement.slug = ${entitlementSlug}
          FOR UPDATE OF license_grant`),
        Option.map(rowOf),
      ),

    update: (organizationId: string, row: StoredGrant, { at }: Change) =>
      Effect.asVoid(
        Effect.orDie(sql`
          WITH before AS (
            ${past} SELECT organization_id, license_id, entitlement_id, ${at}::timestamptz, value, overage_percent
            FROM license_entitlements
            WHERE organization_id = ${organizationId} AND license_id = ${row.licenseId}
              AND entitlement_id = ${row.entitlementId}
              AND (value, overage_percent) IS DISTINCT FROM (${sql.json(row.value)}::jsonb, ${row.overagePercent}::float8)
            ON CONFLICT DO NOTHING
          )
          UPDATE license_entitlements
          SET value = ${sql.json(row.value)}, overage_percent = ${row.overagePercent}
          WHERE organization_id = ${organizationId} AND license_id = ${row.licenseId}
            AND entitlement_id = ${row.entitlementId}`),
      ),

    delete: (organizationId: string, licenseId: string, entitlementId: string, { at }: Change) =>
      Effect.asVoid(
        Effect.orDie(sql`
          WITH ended AS (
            DELETE FROM license_entitlements
            WHERE organization_id = ${organizationId} AND license_id = ${licenseId}
              AND entitlement_id = ${entitlementId}
            RETURNING organization_id, license_id, entitlement_id, value, overage_percent
          )
          ${past} SELECT organization_id, license_id, entitlement_id, ${at}::timestamptz, value, overage_percent
          FROM ended ON CONFLICT DO NOTHING`),
      ),
  }
})
