/** SQL that reads meters and their totals without a lock. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { Ask } from "../../../../kernel/database/Connections.ts"
import { records } from "../../../../kernel/database/Statements.ts"
import { isBefore } from "../../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import { activeCredits, hasCredits } from "../../terms/CreditsSql.ts"
import type { StoredCredit } from "../../rules/StoredCredit.ts"
import { creditOf } from "../../rules/StoredCredit.ts"
import { allowedOf, heldOf } from "../../rules/Held.ts"
import type { HeldParts } from "../../rules/Held.ts"
import { entitlementsSql } from "../../../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../../../instances/InstancesSql.ts"
import { currentAddOns, hasExtras } from "../../../instances/addons/AddOnsSql.ts"
import { grantJoin } from "../../../licenses/grants/GrantSql.ts"
import { licenseJoin } from "../../../licenses/LicensesSql.ts"
import { ifAllowing, openAllowances, reservedQuantity } from "../../terms/HeldSql.ts"
import { broughtInTotal, meterOfInstance, ownOrganization, totalsAround } from "../../terms/TermsSql.ts"
import type { MeterCredits } from "../burning/MeterCredits.ts"
import { meterColumns, meterOf } from "../MeterSql.ts"
import type { MeterRow } from "../MeterSql.ts"
import { totalColumns, totalRowOf } from "../LedgerRepo.ts"
import type { LockedTotal, StoredTotal } from "../LedgerRepo.ts"
import type { Meter } from "../Model.ts"
import type { MeterName } from "../Operation.ts"

/** A meter, with a total that may belong to the requested period. */
export interface MeterSnapshot {
  readonly meter: Meter
  readonly total: LockedTotal | null
  /** Those of its credits that are active at the instant of the reading. */
  readonly credits?: MeterCredits | undefined
}

/** Names a meter of any organization. */
export interface OrganizationMeterName extends MeterName {
  readonly organizationId: OrganizationId
}

/**
 * A row with its allowances, add-ons and credits, or with the instant until which its instance has allowances, and whether it has agreed
 * anything else. It is cast: each consume reads one.
 */
type SnapshotRow = MeterRow & {
  readonly allowancesUntil?: Date | null
  readonly hasExtras?: boolean
  readonly credits?: ReadonlyArray<StoredCredit> | null
} & (
    | (StoredTotal & Pick<HeldParts, "held"> & Partial<HeldParts> & { readonly decidedAt: Date | null })
    | { readonly periodStart: null }
  )

const isIncomplete = ({ allowancesUntil = null, hasExtras: isExtended = false }: SnapshotRow, at: Date): boolean =>
  isExtended || (allowancesUntil !== null && isBefore(at, allowancesUntil))

/** Credits without their later uses: what burns is decided again, under locks. */
const creditsOf = (stored: ReadonlyArray<StoredCredit>, at: Date): MeterCredits => ({
  all: stored.map(creditOf).map((credit) => ({ ...credit, storedUsed: credit.used, later: null })),
  readFor: at,
  uses: [],
})

const snapshotOf = (row: SnapshotRow, at: Date): MeterSnapshot => {
  const meter = meterOf(row, at)
  if (row.periodStart === null) return { meter, total: null }
  const { allowances = null, broughtIn = null, held } = row
  const decidedAt = row.decidedAt !== null && isBefore(at, row.decidedAt) ? row.decidedAt : at
  const period = { start: row.periodStart }
  const parts = { held, allowances, broughtIn }
  return {
    meter,
    total: { ...totalRowOf(row), held: heldOf(parts, period), allowed: allowedOf(parts, period), decidedAt },
    credits: meter.hasCredits === true ? creditsOf(row.credits ?? [], at) : undefined,
  }
}

/** The meters of rows, once each: a meter may have several totals around an instant. */
const namesOf = (rows: ReadonlyArray<SnapshotRow>): ReadonlyArray<OrganizationMeterName> => [
  ...new Map(
    rows.map(({ entitlement, entitlementId, instance, instanceId, organizationId }) => [
      `${instanceId} ${entitlementId}`,
      { organizationId, instance, entitlement },
    ]),
  ).values(),
]

/** Selects the rows of named meters, with their allowances, add-ons and credits or without. */
type SelectRows = (
  named: ReadonlyArray<OrganizationMeterName>,
  at: Date,
  areComplete: boolean,
) => Effect.Effect<ReadonlyArray<SnapshotRow>>

/**
 * Reads snapshots of named meters. Those of instances with open allowances, add-ons or credits are selected once more: the parts of the
 * statement that read these would cost all others.
 */
export const readSnapshots = (select: SelectRows) =>
  Effect.fnUntraced(function* (
    named: ReadonlyArray<OrganizationMeterName>,
    at: Date,
  ): Effect.fn.Return<ReadonlyArray<MeterSnapshot>> {
    const rows = yield* select(named, at, false)
    const incomplete = rows.filter((row) => isIncomplete(row, at))
    if (incomplete.length === 0) return rows.map((row) => snapshotOf(row, at))
    const complete = yield* select(namesOf(incomplete), at, true)
    return [...rows.filter((row) => !isIncomplete(row, at)), ...complete].map((row) => snapshotOf(row, at))
  })

/**
 * Returns the statements that select the rows: `across` for meters of any organizations, `within` for those of one, which a parameter
 * names. The fences `OFFSET 0` force one index look-up for each meter, whatever PostgreSQL's statistics are.
 */
export const snapshotSql = (sql: PgClient.PgClient, ask: Ask) => {
  const columns = sql.literal(`${meterColumns}, ${totalColumns}, t.decided_at AS "decidedAt"`)
  const bounds = { at: "greatest(asked.at, t.decided_at)" }
  const fragmentsOf = (organization: Fragment, asked = organization) => {
    const meter = meterOfInstance(organization)
    return {
      asked,
      more: sql`${ifAllowing(sql, openAllowances(sql, meter, bounds))} AS allowances, ${broughtInTotal(sql, organization)},
            ${currentAddOns(sql, organization)},
            CASE WHEN ${sql.literal(hasCredits("e.id"))} THEN (${activeCredits(sql, meter, { at: "asked.at" })}) END AS credits`,
      termsAndTotals: sql`
          ${licenseJoin(sql, organization)} ${grantJoin(sql, organization)}
          ${totalsAround(sql, organization, "t.*, t.xmin, t.ctid")}
          CROSS JOIN LATERAL (${reservedQuantity(sql, meter, { ...bounds, period: "t.period_start" })}
            OFFSET 0
          ) h`,
    }
  }
  const ofEach = fragmentsOf(ownOrganization(sql), sql.literal("asked.organization_id"))
  const whetherMore = sql.literal(`i.allowances_until AS "allowancesUntil", ${hasExtras}, NULL::jsonb AS "addOns"`)
  const snapshots = (
    named: ReadonlyArray<OrganizationMeterName>,
    at: Date,
    { asked, more, termsAndTotals }: typeof ofEach,
    areComplete: boolean,
  ) =>
    records<SnapshotRow>()(
      ask(
        (own) => own`
          SELECT ${columns}, h.quantity::text AS held, ${areComplete ? more : whetherMore}
          FROM (
            SELECT named.*, ${at}::timestamptz AS at FROM jsonb_to_recordset(${sql.json(
              named.map(({ entitlement, instance, organizationId: organization_id }) => ({
                organization_id,
                instance,
                entitlement,
              })),
            )}) AS named (organization_id uuid, instance text, entitlement text)
          ) asked
          CROSS JOIN LATERAL (
            SELECT * FROM ${instancesSql.rows} WHERE organization_id = ${asked} AND slug = asked.instance OFFSET 0
          ) i
          CROSS JOIN LATERAL (
            SELECT * FROM ${entitlementsSql.rows} WHERE organization_id = ${asked} AND slug = asked.entitlement OFFSET 0
          ) e
          ${termsAndTotals}`,
      ),
    )
  const across: SelectRows = (named, at, areComplete) => snapshots(named, at, ofEach, areComplete)
  const within = (organizationId: OrganizationId): SelectRows => {
    const fragments = fragmentsOf(sql`${organizationId}`)
    return (named, at, areComplete) => snapshots(named, at, fragments, areComplete)
  }
  return { across, within }
}
