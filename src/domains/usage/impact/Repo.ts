/** SQL of the impact of a change: the basis of checks of instances. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records } from "../../../kernel/database/Statements.ts"
import type { CheckedEntitlement, CheckedInstance } from "../rules/Terms.ts"
import { entitlementsGrantedBy, grantOfJoin, licensedTermsAfter } from "../terms/GrantSql.ts"
import { checkedColumns, grantsAndUsageJoins, licenseJoin } from "../terms/TermsSql.ts"
import type { AsOf } from "../terms/TermsSql.ts"

/** A row of a check, with what the other license version grants. */
export type ImpactRow = CheckedInstance &
  CheckedEntitlement & {
    readonly grantedAfter: string | null
    readonly overageAfter: number | null
    readonly graceAfter: number
  }

/**
 * Which entitlements of an instance are checked: one, or all that these license versions or overrides of it grant.
 */
export type LookedAt = { readonly entitlement: string } | { readonly licenseIds: ReadonlyArray<string> }

/** Rows of the impact of a change. */
export class ImpactRepo extends Context.Service<
  ImpactRepo,
  {
    /** The basis of checks of these instances. */
    readonly checked: (
      organizationId: string,
      ids: ReadonlyArray<string>,
      which: LookedAt,
      asOf: AsOf,
    ) => Effect.Effect<ReadonlyArray<CheckedInstance & CheckedEntitlement>>
    /** For these instances, every entitlement that their license or the other one grants. */
    readonly rows: (
      organizationId: string,
      ids: ReadonlyArray<string>,
      toLicenseId: string,
      asOf: AsOf,
    ) => Effect.Effect<ReadonlyArray<ImpactRow>>
  }
>()("keyshelf/usage/impact/Repo") {
  static readonly layer = Layer.effect(
    ImpactRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const after = sql.literal(`
    ${licensedTermsAfter}, coalesce(i.grace_days, nl.grace_days) AS "graceAfter"`)

  return {
    checked: (organizationId: string, ids: ReadonlyArray<string>, which: LookedAt, { at, known }: AsOf) =>
      records<CheckedInstance & CheckedEntitlement>()(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        ${licenseJoin(sql, sql`${organizationId}`)}
        JOIN entitlements e ON e.organization_id = i.organization_id AND ${
          "entitlement" in which
            ? sql`e.slug = ${which.entitlement}`
            : sql`(i.overrides ? e.id::text OR e.id IN (
                ${entitlementsGrantedBy(sql, sql`${organizationId}`, sql`= ANY(${which.licenseIds}::uuid[])`)}))`
        }
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.id = ANY(${ids}::uuid[])
        ORDER BY i.id, e.id`),

    rows: (organizationId: string, ids: ReadonlyArray<string>, toLicenseId: string, { at, known }: AsOf) =>
      records<ImpactRow>()(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}, ${after}
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        ${licenseJoin(sql, sql`${organizationId}`)}
        JOIN licenses nl ON nl.organization_id = i.organization_id AND nl.id = ${toLicenseId}
        JOIN entitlements e ON e.organization_id = i.organization_id AND e.id IN (
          ${entitlementsGrantedBy(sql, sql`${organizationId}`, sql`IN (i.license_id, ${toLicenseId})`)})
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        ${grantOfJoin(sql, toLicenseId)}
        WHERE i.organization_id = ${organizationId} AND i.id = ANY(${ids}::uuid[])
        ORDER BY i.id, e.id`),
  }
})
