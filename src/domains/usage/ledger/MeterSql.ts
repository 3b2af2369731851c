/** SQL of meters: an instance, an entitlement, and what is granted of it. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { currentAddOns } from "../../instances/addons/AddOnsSql.ts"
import { currentOverride } from "../../instances/overrides/OverridesSql.ts"
import { licensedTerms } from "../../licenses/grants/GrantSql.ts"
import { hasCredits } from "../terms/CreditsSql.ts"
import { grantOf } from "../rules/Grant.ts"
import type { GrantedTerms } from "../rules/Grant.ts"
import { graceDays } from "../terms/TermsSql.ts"
import type { Meter } from "./Model.ts"

/** The columns of a meter but its add-ons: of the instance `i`, its license `l`, the entitlement `e` and its grant `g`. */
export const meterColumns = `i.organization_id AS "organizationId", i.id AS "instanceId", i.slug AS instance,
    l.slug AS license, i.start_license_date AS "startLicenseDate", i.end_license_date AS "endLicenseDate",
    ${graceDays}, e.id AS "entitlementId", e.slug AS entitlement, e.name AS "entitlementName", e.type,
    e.aggregation_method AS "aggregationMethod", e.reset_period AS "resetPeriod", e.reset_anchor AS "resetAnchor",
    e.warning_threshold_percent AS "warningThresholdPercent", e.display_order AS "displayOrder",
    ${hasCredits("e.id")} AS "hasCredits", ${licensedTerms}, ${currentOverride}`

/** The columns of a meter. */
export const meterWithAddOns = (sql: SqlClient, organization: Fragment): Fragment =>
  sql`${sql.literal(meterColumns)}, ${currentAddOns(sql, organization)}`

/** A meter as it is read. */
export type MeterRow = Omit<Meter, "grant"> & GrantedTerms

/** The meter, with what is granted at an instant. */
export const meterOf = <Row extends MeterRow>(row: Row, at: Date): Row & Meter => ({ ...row, grant: grantOf(row, at) })
