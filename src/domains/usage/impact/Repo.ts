/** SQL of the impact of a change: the basis of checks of instances. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { decoded } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { AddedTerms } from "../rules/Grant.ts"
import { EntitlementRow } from "../rules/Terms.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { addOnsOfInstance, mayBeAddedOn } from "../../instances/addons/AddOnsSql.ts"
import { AppliedAddOn } from "../../instances/addons/Model.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { addedAfter, entitlementsGrantedBy, grantOfJoin, licensedTermsAfter } from "../../licenses/grants/GrantSql.ts"
import { licenseJoin, licensesSql } from "../../licenses/LicensesSql.ts"
import { checkedColumns, grantsAndUsageJoins } from "../terms/TermsSql.ts"
import type { AsOf } from "../terms/TermsSql.ts"

/** A row of a check, with what the other license version grants. */
const ImpactRow = Schema.Struct({
  ...EntitlementRow.fields,
  grantedAfter: Schema.NullOr(Schema.String),
  overageAfter: Schema.NullOr(Schema.Finite),
  graceAfter: Schema.Int,
})
export type ImpactRow = typeof ImpactRow.Type

/** A row of a check, with the add-ons of the instance, and what another version of one of them grants. */
const AddOnImpactRow = Schema.Struct({
  ...EntitlementRow.fields,
  applied: Schema.NullOr(Schema.Array(AppliedAddOn)),
  addedAfter: Schema.NullOr(AddedTerms),
})
export type AddOnImpactRow = typeof AddOnImpactRow.Type

/** A move between two versions of an add-on. */
export interface AddOnMove {
  readonly from: string
  readonly to: string
}

/**
 * Which entitlements of an instance are checked: one, or all that these license versions, add-ons or overrides of it grant.
 */
export type LookedAt = { readonly entitlement: string } | { readonly licenseIds: ReadonlyArray<string> }

/** Rows of the impact of a change. */
export class ImpactRepo extends Context.Service<
  ImpactRepo,
  {
    /** The basis of checks of these instances. */
    readonly checked: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
      which: LookedAt,
      asOf: AsOf,
    ) => Effect.Effect<ReadonlyArray<typeof EntitlementRow.Type>>
    /** For these instances, every entitlement that their license or the other one grants. */
    readonly rows: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
      toLicenseId: string,
      asOf: AsOf,
    ) => Effect.Effect<ReadonlyArray<ImpactRow>>
    /** For these instances, every entitlement that one of the two versions of an add-on grants. */
    readonly addOnRows: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
      move: AddOnMove,
      asOf: AsOf,
    ) => Effect.Effect<ReadonlyArray<AddOnImpactRow>>
  }
>()("keyshelf/usage/impact/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ImpactRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const after = sql.literal(`
    ${licensedTermsAfter}, coalesce(i.grace_days, nl.grace_days) AS "graceAfter"`)

  return ImpactRepo.of({
    checked: (organizationId, ids, which, { at, known }) =>
      decoded(EntitlementRow)(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}
        FROM ${instancesSql.as("i")}
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        ${licenseJoin(sql, sql`${organizationId}`)}
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id AND ${
          "entitlement" in which
            ? sql`e.slug = ${which.entitlement}`
            : sql`(i.overrides ? e.id::text OR ${mayBeAddedOn(sql, sql`${organizationId}`)} OR e.id IN (
                ${entitlementsGrantedBy(sql, sql`${organizationId}`, sql`= ANY(${which.licenseIds}::uuid[])`)}))`
        }
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.id = ANY(${ids}::uuid[])
        ORDER BY i.id, e.id`),

    addOnRows: (organizationId, ids, { from, to }, { at, known }) =>
      decoded(AddOnImpactRow)(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}, ${sql.literal(`${addOnsOfInstance} AS applied, ${addedAfter}`)}
        FROM ${instancesSql.as("i")}
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        ${licenseJoin(sql, sql`${organizationId}`)}
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id AND e.id IN (
          ${entitlementsGrantedBy(sql, sql`${organizationId}`, sql`IN (${from}, ${to})`)})
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        ${grantOfJoin(sql, to)}
        WHERE i.organization_id = ${organizationId} AND i.id = ANY(${ids}::uuid[])
        ORDER BY i.id, e.id`),

    rows: (organizationId, ids, toLicenseId, { at, known }) =>
      decoded(ImpactRow)(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}, ${after}
        FROM ${instancesSql.as("i")}
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        ${licenseJoin(sql, sql`${organizationId}`)}
        JOIN ${licensesSql.as("nl")} ON nl.organization_id = i.organization_id AND nl.id = ${toLicenseId}
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id AND e.id IN (
          ${entitlementsGrantedBy(sql, sql`${organizationId}`, sql`IN (i.license_id, ${toLicenseId})`)})
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        ${grantOfJoin(sql, toLicenseId)}
        WHERE i.organization_id = ${organizationId} AND i.id = ANY(${ids}::uuid[])
        ORDER BY i.id, e.id`),
  })
})
