/**
 * SQL fragments of an instance's terms: its grants, totals and reservations. The SQL of checks is
 * `check/Repo.ts` (a single check), `check/hotpath/Repo.ts` (batched checks) and `check/PastRepo.ts` (checks of the
 * past). What is granted is `licenses/grants/GrantSql.ts`, what is held `HeldSql.ts`. A check reads tables of several domains in one
 * statement, by fragments of their owners.
 *
 * Fragments take the `organization`: a parameter, by which a database on several servers finds the one to ask. Only a statement about
 * several organizations, for one server, takes {@link ownOrganization}.
 */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { currentAddOns } from "../../instances/addons/AddOnsSql.ts"
import { currentOverride } from "../../instances/overrides/OverridesSql.ts"
import { grantJoin, licensedConfiguration, licensedTerms } from "../../licenses/grants/GrantSql.ts"
import { activeCredits, hasCredits } from "./CreditsSql.ts"
import { broughtIn, ifAllowing, openAllowances, reservedApart } from "./HeldSql.ts"
import type { HeldBounds, HeldMeter } from "./HeldSql.ts"

/** The instant of a check. */
export interface AsOf {
  readonly at: Date
  /** Reservations created after this instant are ignored. */
  readonly known: Date
}

/** The organization of the instance `i`. */
export const ownOrganization = (sql: SqlClient): Fragment => sql.literal("i.organization_id")

/** The columns that only an explanation shows: of the license `l`, its family `f` and its grant `g`. */
export const explainedColumns = `, jsonb_build_object('version', l.version::text, 'family', f.slug, 'lifecycleState',
    l.lifecycle_state) AS facts, ${licensedConfiguration}`

/**
 * The totals `t` of the instance `i` and the entitlement `e` that may belong to the period of `asked.at`. The caller
 * computes the start of the period, so this returns the totals of an interval as long as the longest such period.
 */
export const totalsAround = (
  sql: SqlClient,
  organization: Fragment,
  columns: string,
): Fragment => sql`LEFT JOIN LATERAL (
      SELECT ${sql.literal(columns)} FROM usage_totals t
      WHERE t.organization_id = ${organization} AND t.instance_id = i.id AND t.entitlement_id = e.id
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

/** The days of access after the end of the license: of the instance `i`, otherwise of its license `l`. */
export const graceDays = `coalesce(i.grace_days, l.grace_days) AS "graceDays"`

/** How many hold a lease of the instance `i` and the entitlement of this id at `asked.at`. */
export const liveLeases = (sql: SqlClient, organization: Fragment, entitlementId: string): Fragment => sql`
      SELECT count(*) FROM usage_leases
      WHERE organization_id = ${organization} AND instance_id = i.id AND entitlement_id = ${sql.literal(entitlementId)}
        AND expires_at > asked.at AND acquired_at <= asked.known`

/** What a check takes as held: what was known then, of the instance `i`. */
export const checkedBounds: HeldBounds = { at: "asked.at", known: "asked.known" }

/** The entitlement of this id, of the instance `i`. */
export const meterOfInstance = (organization: Fragment, entitlement = "e.id"): HeldMeter => ({
  organization,
  instance: "i.id",
  entitlement,
})

/** The open allowances of the instance `i` and the entitlement `e`; `null` if it has none. */
export const checkedAllowances = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`${ifAllowing(sql, openAllowances(sql, meterOfInstance(organization), checkedBounds))} AS allowances`

/** How much ledgers have brought of the total `t` of the instance `i` and the entitlement `e`, if it may have allowances. */
export const broughtInTotal = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`${ifAllowing(sql, broughtIn(sql, meterOfInstance(organization), "t.period_start"))} AS "broughtIn"`

/** The active credits of the instance `i` and the entitlement `e`; `null` if it has none. */
const checkedCredits = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`CASE WHEN ${sql.literal(hasCredits("e.id"))} THEN (${activeCredits(sql, meterOfInstance(organization), checkedBounds)}) END AS credits`

/**
 * The columns of a check: of the instance `i`, its license `l`, the entitlement `e`, its grant `g`, a total `t` and
 * reservations `h`.
 */
export const checkedColumns = (sql: SqlClient, organization: Fragment): Fragment => sql`
  ${sql.literal(`i.slug AS instance, l.slug AS license, i.start_license_date AS "startLicenseDate",
  i.end_license_date AS "endLicenseDate", ${graceDays}, e.slug AS entitlement, e.type, e.reset_period AS "resetPeriod",
  e.reset_anchor AS "resetAnchor",
  ${licensedTerms}, ${currentOverride}`)}, ${currentAddOns(sql, organization)}, ${sql.literal(`
  CASE e.aggregation_method WHEN 'CONCURRENT' THEN i.start_license_date ELSE t.period_start END AS "periodStart"`)},
  CASE e.aggregation_method WHEN 'CONCURRENT' THEN (${liveLeases(sql, organization, "e.id")})::text ELSE t.value::text END AS used,
  t.burned::text AS burned, ${checkedCredits(sql, organization)}, h.quantity::text AS held, h.tranches::text AS tranches, ${checkedAllowances(sql, organization)}, ${broughtInTotal(sql, organization)}`

/** The grant, the totals and the reserved quantity of the entitlement `e`. */
export const grantsAndUsageJoins = (sql: SqlClient, organization: Fragment): Fragment => sql`
    ${grantJoin(sql, organization)}
    ${totalsAround(sql, organization, "t.period_start, t.value, t.burned")}
    LEFT JOIN LATERAL (
      ${reservedApart(sql, meterOfInstance(organization), { ...checkedBounds, period: "t.period_start" })}
      OFFSET 0
    ) h ON true`
