/** SQL of a single check: with an explanation, or of all entitlements. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records } from "../../../kernel/database/Statements.ts"
import { licensedConfiguration } from "../terms/GrantSql.ts"
import { checkedColumns, explainedColumns, familyJoin, grantsAndUsageJoins } from "../terms/TermsSql.ts"
import type { AggregationMethod } from "../../entitlements/Model.ts"
import type { AsOf } from "../terms/TermsSql.ts"
import type { CheckRow } from "../rules/Terms.ts"

/** A row of a check of all entitlements. */
export type StandingRow = CheckRow & { readonly aggregationMethod: AggregationMethod | null }

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
      organizationId: string,
      instanceSlug: string,
      entitlements: ReadonlyArray<string>,
      asOf: AsOf & { readonly explain?: boolean },
    ) => Effect.Effect<ReadonlyArray<CheckRow>>
    /** The same for the entitlements of these slugs (`null`: for all), with the granted configurations. */
    readonly findStandings: (
      organizationId: string,
      instanceSlug: string,
      entitlements: ReadonlyArray<string> | null,
      asOf: AsOf,
    ) => Effect.Effect<ReadonlyArray<StandingRow>>
  }
>()("keyshelf/usage/check/Repo") {
  static readonly layer = Layer.effect(
    CheckRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const explained = sql.literal(explainedColumns)
  const configuration = sql.literal(licensedConfiguration)
  const family = sql.literal(familyJoin)
  const nothing = sql.literal("")

  return {
    findForCheck: (
      organizationId: string,
      instanceSlug: string,
      entitlements: ReadonlyArray<string>,
      { at, explain = false, known }: AsOf & { readonly explain?: boolean },
    ) =>
      records<CheckRow>()(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}${explain ? explained : nothing}
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
        ${explain ? family : nothing}
        LEFT JOIN entitlements e
          ON e.organization_id = i.organization_id AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),

    findStandings: (
      organizationId: string,
      instanceSlug: string,
      entitlements: ReadonlyArray<string> | null,
      { at, known }: AsOf,
    ) =>
      records<StandingRow>()(sql`
        SELECT ${checkedColumns(sql, sql`${organizationId}`)}, ${configuration},
          e.aggregation_method AS "aggregationMethod"
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
        LEFT JOIN entitlements e ON e.organization_id = i.organization_id
          ${entitlements === null ? nothing : sql`AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))`}
        ${grantsAndUsageJoins(sql, sql`${organizationId}`)}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),
  }
})
