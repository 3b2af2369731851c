/** SQL of usage. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records } from "../kernel/Sql.ts"
import type { CheckRow, StandingRow } from "./Model.ts"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`i.slug AS instance, l.slug AS license, i.start_license_date AS "startLicenseDate",
    i.end_license_date AS "endLicenseDate", e.slug AS entitlement, e.type, e.reset_period AS "resetPeriod",
    e.reset_anchor AS "resetAnchor",
    CASE jsonb_typeof(g.value) WHEN 'object' THEN '{}' ELSE g.value #>> '{}' END AS granted,
    g.overage_percent AS "overagePercent", t.period_start AS "periodStart", t.value::text AS used`)
  const grantsAndTotals = sql.literal(`LEFT JOIN license_entitlements g
      ON g.organization_id = i.organization_id AND g.license_id = i.license_id AND g.entitlement_id = e.id
    LEFT JOIN LATERAL (
      SELECT period_start, value FROM usage_totals
      WHERE organization_id = i.organization_id AND instance_id = i.id AND entitlement_id = e.id
        AND period_start >= CASE e.reset_period
          WHEN 'HOUR' THEN asked.at - interval '1 hour'
          WHEN 'DAY' THEN asked.at - interval '24 hours'
          WHEN 'WEEK' THEN asked.at - interval '7 days'
          WHEN 'MONTH' THEN asked.at - interval '31 days'
          WHEN 'YEAR' THEN asked.at - interval '366 days'
          ELSE i.start_license_date END
        AND period_start <= CASE WHEN e.reset_period IS NULL THEN i.start_license_date ELSE asked.at END
      OFFSET 0
    ) t ON true`)

  return {
    /**
     * All that a check rests on, in one round trip; no row if there is no such instance. The period's start is computed
     * by the caller, so the totals of as long as the longest such period come back: one row for each entitlement, or a
     * few if the license start was moved lately.
     *
     * The array behind `ARRAY(SELECT ...)` and the fence `OFFSET 0` keep PostgreSQL at one plan for all calls, with one
     * index look-up for each entitlement. Without them it plans every call anew, which costs seven times the execution.
     */
    findForCheck: (organizationId: string, instanceSlug: string, entitlements: ReadonlyArray<string>, at: Date) =>
      records<CheckRow>()(sql`
        SELECT ${columns}
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at) asked
        JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
        LEFT JOIN entitlements e
          ON e.organization_id = i.organization_id AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))
        ${grantsAndTotals}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),

    /** The same for the entitlements of these slugs, `null` meaning all, with the configurations that are granted. */
    findStandings: (
      organizationId: string,
      instanceSlug: string,
      entitlements: ReadonlyArray<string> | null,
      at: Date,
    ) =>
      records<StandingRow>()(sql`
        SELECT ${columns}, CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value END AS configuration
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at) asked
        JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
        LEFT JOIN entitlements e ON e.organization_id = i.organization_id
          ${entitlements === null ? sql.literal("") : sql`AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))`}
        ${grantsAndTotals}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),
  }
})

/** Rows of usage. */
export class UsageRepo extends Context.Service<UsageRepo, Effect.Success<typeof make>>()("keyshelf/usage/Repo") {
  static readonly layer = Layer.effect(UsageRepo, make)
}
