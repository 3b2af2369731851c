/** SQL of usage. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records } from "../kernel/Sql.ts"
import type { CheckRow } from "./Model.ts"

/** The instant that a check is about. */
export interface Moment {
  readonly at: Date
  /** Reservations made after this instant are left out. */
  readonly known: Date
}

/** The columns that only an explanation tells, of the license `l`, its family `f` and its grant `g`. */
export const explainedColumns = `, jsonb_build_object('version', l.version::text, 'family', f.slug, 'lifecycleState',
    l.lifecycle_state) AS facts, CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value END AS configuration`

/** The family `f` of the license `l`. */
export const familyJoin = `JOIN license_families f ON f.organization_id = l.organization_id AND f.id = l.family_id`

/** The license `l` of the instance `i`, by one index look-up whatever the statistics say. */
export const licenseJoin = `CROSS JOIN LATERAL (
      SELECT slug FROM licenses WHERE organization_id = i.organization_id AND id = i.license_id OFFSET 0
    ) l`

/** What the license of the instance `i` grants of the entitlement `e`, if anything: `g`, by one index look-up too. */
export const grantJoin = `LEFT JOIN LATERAL (
      SELECT value, overage_percent FROM license_entitlements
      WHERE organization_id = i.organization_id AND license_id = i.license_id AND entitlement_id = e.id OFFSET 0
    ) g ON true`

/**
 * The totals `t` of the instance `i` and the entitlement `e` that may be of the period of `asked.at`: a period's start is
 * computed by the caller, so those of as long as the longest such period come back.
 */
export const totalsAround = (columns: string): string => `LEFT JOIN LATERAL (
      SELECT ${columns} FROM usage_totals t
      WHERE t.organization_id = i.organization_id AND t.instance_id = i.id AND t.entitlement_id = e.id
        AND t.period_start >= CASE e.reset_period
          WHEN 'HOUR' THEN asked.at - interval '1 hour'
          WHEN 'DAY' THEN asked.at - interval '24 hours'
          WHEN 'WEEK' THEN asked.at - interval '7 days'
          WHEN 'MONTH' THEN asked.at - interval '31 days'
          WHEN 'YEAR' THEN asked.at - interval '366 days'
          ELSE i.start_license_date END
        AND t.period_start <= CASE WHEN e.reset_period IS NULL THEN i.start_license_date ELSE asked.at END
      OFFSET 0
    ) t ON true`

/** What a check reads of an instance `i`, its license `l`, an entitlement `e`, its grant `g`, a total `t` and what is held, `h`. */
export const checkedColumns = `i.slug AS instance, l.slug AS license, i.start_license_date AS "startLicenseDate",
  i.end_license_date AS "endLicenseDate", e.slug AS entitlement, e.type, e.reset_period AS "resetPeriod",
  e.reset_anchor AS "resetAnchor",
  CASE jsonb_typeof(g.value) WHEN 'object' THEN '{}' ELSE g.value #>> '{}' END AS granted,
  g.overage_percent AS "overagePercent", t.period_start AS "periodStart", t.value::text AS used, h.quantity::text AS held`

/** What reservations of the instance `i` hold of the entitlement of this id. */
export const heldOf = (entitlementId: string): string => `SELECT sum(quantity) AS quantity FROM usage_reservations
      WHERE organization_id = i.organization_id AND instance_id = i.id AND entitlement_id = ${entitlementId} AND state = 'HELD'
        AND expires_at > asked.at AND expires_at <= asked.at + interval '25 hours' AND created_at <= asked.known`

/** The grant, the totals and what is held of the entitlement `e`. */
export const grantsAndUsageJoins = `${grantJoin}
    ${totalsAround("t.period_start, t.value")}
    LEFT JOIN LATERAL (
      ${heldOf("e.id")}
      OFFSET 0
    ) h ON true`

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(checkedColumns)
  const explained = sql.literal(explainedColumns)
  const family = sql.literal(familyJoin)
  const nothing = sql.literal("")
  const grantsAndUsage = sql.literal(grantsAndUsageJoins)

  return {
    /**
     * All that a check rests on, in one round trip; no row if there is no such instance. The period's start is computed
     * by the caller, so the totals of as long as the longest such period come back: one row for each entitlement, or a
     * few if the license start was moved lately. Reservations are read from the end of their index, behind all that
     * expired: none lives longer than a day.
     *
     * The array behind `ARRAY(SELECT ...)` and the fence `OFFSET 0` keep PostgreSQL at one plan for all calls, with one
     * index look-up for each entitlement. Without them it plans every call anew, which costs seven times the execution.
     */
    findForCheck: (
      organizationId: string,
      instanceSlug: string,
      entitlements: ReadonlyArray<string>,
      { at, explain = false, known }: Moment & { readonly explain?: boolean },
    ) =>
      records<CheckRow>()(sql`
        SELECT ${columns}${explain ? explained : nothing}
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
        ${explain ? family : nothing}
        LEFT JOIN entitlements e
          ON e.organization_id = i.organization_id AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))
        ${grantsAndUsage}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),

    /** The same for the entitlements of these slugs, `null` meaning all, with the configurations that are granted. */
    findStandings: (
      organizationId: string,
      instanceSlug: string,
      entitlements: ReadonlyArray<string> | null,
      { at, known }: Moment,
    ) =>
      records<CheckRow>()(sql`
        SELECT ${columns}, CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value END AS configuration
        FROM instances i
        CROSS JOIN (SELECT ${at}::timestamptz AS at, ${known}::timestamptz AS known) asked
        JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
        LEFT JOIN entitlements e ON e.organization_id = i.organization_id
          ${entitlements === null ? nothing : sql`AND e.slug = ANY(ARRAY(SELECT unnest(${entitlements}::text[])))`}
        ${grantsAndUsage}
        WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),
  }
})

/** Rows of usage. */
export class UsageRepo extends Context.Service<UsageRepo, Effect.Success<typeof make>>()("keyshelf/usage/Repo") {
  static readonly layer = Layer.effect(UsageRepo, make)
}
