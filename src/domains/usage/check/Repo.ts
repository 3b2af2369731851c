/** SQL of a single check: with an explanation, or of all entitlements. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { decoded } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { licensedConfiguration } from "../../licenses/grants/GrantSql.ts"
import { familyJoin, licensesSql } from "../../licenses/LicensesSql.ts"
import { checkedColumns, explainedColumns, grantsAndUsageJoins } from "../terms/TermsSql.ts"
import { AggregationMethod } from "../../entitlements/Model.ts"
import type { AsOf } from "../terms/TermsSql.ts"
import { CheckRow, EntitlementRow, WithoutEntitlement } from "../rules/Terms.ts"

/** A row of a check of all entitlements. */
const StandingRow = Schema.Union([
  Schema.Struct({ ...EntitlementRow.fields, aggregationMethod: Schema.NullOr(AggregationMethod) }),
  Schema.Struct({ ...WithoutEntitlement.fields, aggregationMethod: Schema.Null }),
])
export type StandingRow = typeof StandingRow.Type

/** Rows of a single check. */
export class CheckRepo extends Context.Service<
  CheckRepo,
  {
    /**
     * Everything that a check is decided on, in one round trip; no row if there is no such instance. It returns one row
     * for each entitlement, or a few if the license start was changed recently: the caller finds the total of the
     * period. Reservations are read from the end of their index, after all expired ones: none lives longer than a day.
     *
     * `ARRAY(SELECT ...)` and the fence `OFFSET 0` make PostgreSQL use one plan for all calls, with one index look-up
     * for each entitlement. Otherwise it plans every call again, which costs seven times the execution.
     */
    readonly findForCheck: (
      organizationId: OrganizationId,
      instanceSlug: string,
      entitlements: ReadonlyArray<string>,
      asOf: AsOf & { readonly explain?: boolean },
    ) => Effect.Effect<ReadonlyArray<CheckRow>>
    /** The same for the entitlements of these slugs (`null`: for all), with the granted configurations. */
    readonly findStandings: (
      organizationId: OrganizationId,
      instanceSlug: string,
      entitlements: ReadonlyArray<string> | null,
      asOf: AsOf,
    ) => Effect.Effect<ReadonlyArray<StandingRow>>
  }
>()("keyshelf/usage/check/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(CheckRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const explained = sql.literal(explainedColumns)
  const configuration = sql.literal(licensedConfiguration)
  const family = sql.literal(familyJoin)
  const nothing = sql.literal("")

  return CheckRepo.of({
    findForCheck: (organizationId, instanceSlug, entitlements, { at, explain = false, known }) =>
      decoded(CheckRow)(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}${explain ? explained : nothing}
        FROM ${instancesSql.as("i")}
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        JOIN ${licensesSql.on("l", "i.license_id")}
        ${explain ? family : nothing}
        LEFT JOIN ${entitlementsSql.as("e")}
          ON e.organization_id = i.organization_id AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),

    findStandings: (organizationId, instanceSlug, entitlements, { at, known }) =>
      decoded(StandingRow)(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}, ${configuration},
          e.aggregation_method AS "aggregationMethod"
        FROM ${instancesSql.as("i")}
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        JOIN ${licensesSql.on("l", "i.license_id")}
        LEFT JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id
          ${entitlements === null ? nothing : sql`AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))`}
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),
  })
})
