/** SQL of grants. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { EntitlementType } from "../../entitlements/Model.ts"
import { affectedRows } from "../../../kernel/database/AffectedRows.ts"
import type { Affected } from "../../../kernel/contract/dryruns/Impact.ts"
import { afterInDisplayOrder } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { decoded, decodedOne, executed, returnedRow } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Combine, Grant, storedGrantValue } from "../Model.ts"

/** A grant with the type and the list position of its entitlement. */
const GrantRow = Schema.Struct({
  ...Grant.fields,
  entitlementId: Schema.String,
  entitlementType: EntitlementType,
  displayOrder: Schema.Int,
})
export type GrantRow = typeof GrantRow.Type

interface StoredGrant extends Omit<Grant, "entitlementSlug"> {
  readonly licenseId: string
  readonly entitlementId: string
}

/** A grant whose value is the text of its JSON. */
const TextRow = Schema.Struct({ ...GrantRow.fields, value: Schema.String, combine: Schema.NullOr(Combine) })
type TextRow = typeof TextRow.Type

const rowOf = ({ combine, ...row }: TextRow): GrantRow => ({
  ...row,
  value: storedGrantValue(row.value),
  ...(combine === null ? {} : { combine }),
})

/** The overage as it is stored: whether the grant states one, and which. */
const overageOf = ({ overagePercent }: StoredGrant) => ({
  stated: overagePercent !== null,
  percent: overagePercent ?? 0,
})

/** The time at which a grant changes. */
interface Change {
  readonly at: Date
}

const GRANTED = `SELECT entitlement.id AS "entitlementId", entitlement.slug AS "entitlementSlug",
      entitlement.type AS "entitlementType", entitlement.display_order AS "displayOrder", license_grant.value::text AS value,
      license_grant.combine,
      CASE WHEN license_grant.overage_stated THEN license_grant.overage_percent END AS "overagePercent"`

/** What is stored of a grant, beside its key. */
const TERMS = "value, overage_percent, combine, overage_stated"

/** Stores and reads grants. */
export class LicenseGrantsRepo extends Context.Service<
  LicenseGrantsRepo,
  {
    /** Stores the grant and returns whether the license did not grant the entitlement yet. */
    readonly insert: (organizationId: OrganizationId, row: StoredGrant, change: Change) => Effect.Effect<boolean>
    /** The grants of a license after a position, in the display order of their entitlements. */
    readonly list: (
      organizationId: OrganizationId,
      licenseId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<GrantRow>>
    /** License versions that grant an entitlement. */
    readonly granting: (
      organizationId: OrganizationId,
      entitlement: { readonly id: string },
    ) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** Locks the grant of an entitlement until the transaction ends. None if the license does not grant it. */
    readonly lock: (
      organizationId: OrganizationId,
      licenseId: string,
      entitlementSlug: string,
    ) => Effect.Effect<Option.Option<GrantRow>>
    /** Updates a locked grant. Stores the previous one if it changes. */
    readonly update: (organizationId: OrganizationId, row: StoredGrant, change: Change) => Effect.Effect<void>
    /** Deletes a grant, and stores it as a past one. */
    readonly delete: (
      organizationId: OrganizationId,
      licenseId: string,
      entitlementId: string,
      change: Change,
    ) => Effect.Effect<void>
  }
>()("keyshelf/licenses/LicenseGrantsRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(LicenseGrantsRepo, make))
}

/** Selects license versions by what they grant. */
const granting =
  (sql: PgClient.PgClient): LicenseGrantsRepo["Service"]["granting"] =>
  (organizationId, { id }) =>
    affectedRows<{ readonly slug: string }>()(
      sql,
      sql`
      SELECT l.slug FROM license_entitlements g
      JOIN licenses l ON l.organization_id = g.organization_id AND l.id = g.license_id
      WHERE g.organization_id = ${organizationId} AND g.entitlement_id = ${id} ORDER BY l.id`,
    )

/** Reads grants with their entitlements. */
const reading = (sql: PgClient.PgClient) => {
  const grants = sql`${sql.literal(GRANTED)} FROM license_entitlements license_grant
    JOIN ${entitlementsSql.on("entitlement", "license_grant.entitlement_id")}`
  return {
    list: (organizationId, licenseId, after, count) => {
      const [displayOrder, id] = afterInDisplayOrder(after)
      return Effect.map(
        decoded(TextRow)(sql`
          ${grants}
          WHERE license_grant.organization_id = ${organizationId} AND license_grant.license_id = ${licenseId}
            AND (entitlement.display_order, entitlement.id) > (${displayOrder}, ${id})
          ORDER BY entitlement.display_order, entitlement.id LIMIT ${count}`),
        (rows) => rows.map(rowOf),
      )
    },

    granting: granting(sql),

    lock: (organizationId, licenseId, entitlementSlug) =>
      Effect.map(
        decodedOne(TextRow)(sql`
          ${grants}
          WHERE license_grant.organization_id = ${organizationId} AND license_grant.license_id = ${licenseId}
            AND entitlement.slug = ${entitlementSlug}
          FOR UPDATE OF license_grant`),
        Option.map(rowOf),
      ),
  } satisfies Partial<LicenseGrantsRepo["Service"]>
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  // Stores the previous grant with every change, for checks of a past time.
  const past = sql.literal(
    `INSERT INTO past_license_grants (organization_id, license_id, entitlement_id, until, ${TERMS})`,
  )
  const terms = sql.literal(TERMS)

  return LicenseGrantsRepo.of({
    ...reading(sql),

    insert: Effect.fnUntraced(function* (organizationId, row, { at }) {
      const isNew = yield* returnedRow(sql`
        INSERT INTO license_entitlements (organization_id, license_id, entitlement_id, ${terms})
        VALUES (${organizationId}, ${row.licenseId}, ${row.entitlementId}, ${sql.json(row.value)},
          ${overageOf(row).percent}, ${row.combine ?? null}, ${overageOf(row).stated})
        ON CONFLICT DO NOTHING
        RETURNING entitlement_id`)
      if (isNew) {
        yield* executed(sql`
          ${past} VALUES (${organizationId}, ${row.licenseId}, ${row.entitlementId}, ${at}, NULL, NULL, NULL, true)
          ON CONFLICT DO NOTHING`)
      }
      return isNew
    }),

    update: (organizationId, row, { at }) => {
      const { percent, stated } = overageOf(row)
      const combine = row.combine ?? null
      return executed(sql`
        WITH before AS (
          ${past} SELECT organization_id, license_id, entitlement_id, ${at}::timestamptz, ${terms}
          FROM license_entitlements
          WHERE organization_id = ${organizationId} AND license_id = ${row.licenseId}
            AND entitlement_id = ${row.entitlementId}
            AND (${terms}) IS DISTINCT FROM (${sql.json(row.value)}::jsonb, ${percent}::float8, ${combine}::text, ${stated}::boolean)
          ON CONFLICT DO NOTHING
        )
        UPDATE license_entitlements
        SET value = ${sql.json(row.value)}, overage_percent = ${percent}, combine = ${combine}, overage_stated = ${stated}
        WHERE organization_id = ${organizationId} AND license_id = ${row.licenseId}
          AND entitlement_id = ${row.entitlementId}`)
    },

    delete: (organizationId, licenseId, entitlementId, { at }) =>
      executed(sql`
        WITH ended AS (
          DELETE FROM license_entitlements
          WHERE organization_id = ${organizationId} AND license_id = ${licenseId}
            AND entitlement_id = ${entitlementId}
          RETURNING organization_id, license_id, entitlement_id, ${terms}
        )
        ${past} SELECT organization_id, license_id, entitlement_id, ${at}::timestamptz, ${terms}
        FROM ended ON CONFLICT DO NOTHING`),
  })
})
