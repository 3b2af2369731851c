/**
 * SQL that reads meters and totals without a lock, and stores what was posted to totals that have not changed since.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { Commits } from "../../../../kernel/database/Connections.ts"
import { inEachOrganization } from "../../../../kernel/database/DueOrganizations.ts"
import { hasCitus, records } from "../../../../kernel/database/Statements.ts"
import { isBefore } from "../../../../kernel/values/Timestamp.ts"
import { heldOf } from "../../rules/Held.ts"
import type { HeldParts } from "../../rules/Held.ts"
import { grantJoin } from "../../terms/GrantSql.ts"
import { ifAllowing, openAllowances, reservedQuantity } from "../../terms/HeldSql.ts"
import { broughtInTotal, licenseJoin, meterOfInstance, ownOrganization, totalsAround } from "../../terms/TermsSql.ts"
import type { Account } from "../Account.ts"
import { meterColumns, meterOf, totalColumns, totalRowOf } from "../LedgerRepo.ts"
import type { LockedTotal, MeterRow, StoredTotal } from "../LedgerRepo.ts"
import type { Meter } from "../Model.ts"
import type { MeterName } from "../Operation.ts"
import { storeAcross, storeWithin } from "./StoreSql.ts"

/** A meter, with a total that may belong to the requested period. */
export interface MeterSnapshot {
  readonly meter: Meter
  readonly total: LockedTotal | null
}

/** Names a meter of any organization. */
interface OrganizationMeterName extends MeterName {
  readonly organizationId: string
}

/** A row with its allowances, or with the instant until which its instance has some. */
type SnapshotRow = MeterRow & { readonly allowancesUntil?: Date | null } & (
    | (StoredTotal & Pick<HeldParts, "held"> & Partial<HeldParts> & { readonly decidedAt: Date | null })
    | { readonly periodStart: null }
  )

const isAllowing = ({ allowancesUntil = null }: SnapshotRow, at: Date): boolean =>
  allowancesUntil !== null && isBefore(at, allowancesUntil)

const snapshotOf = (row: SnapshotRow, at: Date): MeterSnapshot => {
  const meter = meterOf(row, at)
  if (row.periodStart === null) return { meter, total: null }
  const { allowances = null, broughtIn = null, held } = row
  const decidedAt = row.decidedAt !== null && isBefore(at, row.decidedAt) ? row.decidedAt : at
  return {
    meter,
    total: { ...totalRowOf(row), held: heldOf({ held, allowances, broughtIn }, { start: row.periodStart }), decidedAt },
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

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* Commits
  const isSharded = yield* hasCitus(sql)
  const columns = sql.literal(`${meterColumns}, ${totalColumns}, t.decided_at AS "decidedAt"`)
  const bounds = { at: "greatest(asked.at, t.decided_at)" }
  const fragmentsOf = (organization: Fragment, asked = organization) => {
    const meter = meterOfInstance(organization)
    return {
      asked,
      allowances: sql`${ifAllowing(sql, openAllowances(sql, meter, bounds))} AS allowances, ${broughtInTotal(sql, organization)}`,
      termsAndTotals: sql`
          ${licenseJoin(sql, organization)} ${grantJoin(sql, organization)}
          ${totalsAround(sql, organization, "t.*, t.xmin, t.ctid")}
          CROSS JOIN LATERAL (${reservedQuantity(sql, meter, bounds)}
            OFFSET 0
          ) h`,
    }
  }
  const ofEach = fragmentsOf(ownOrganization(sql), sql.literal("asked.organization_id"))
  const allowancesUntil = sql.literal(`i.allowances_until AS "allowancesUntil"`)
  const snapshots = (
    named: ReadonlyArray<OrganizationMeterName>,
    at: Date,
    { allowances, asked, termsAndTotals }: typeof ofEach,
    areAllowancesRead: boolean,
  ) =>
    records<SnapshotRow>()(
      ask(
        (own) => own`
          SELECT ${columns}, h.quantity::text AS held, ${areAllowancesRead ? allowances : allowancesUntil}
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
            SELECT * FROM instances WHERE organization_id = ${asked} AND slug = asked.instance OFFSET 0
          ) i
          CROSS JOIN LATERAL (
            SELECT * FROM entitlements WHERE organization_id = ${asked} AND slug = asked.entitlement OFFSET 0
          ) e
          ${termsAndTotals}`,
      ),
    )
  const rowsOf = (named: ReadonlyArray<OrganizationMeterName>, at: Date, areAllowancesRead: boolean) =>
    isSharded
      ? inEachOrganization(
          named,
          ({ organizationId }) => organizationId,
          (organizationId, own) => snapshots(own, at, fragmentsOf(sql`${organizationId}`), areAllowancesRead),
        )
      : snapshots(named, at, ofEach, areAllowancesRead)
  const stored = (statement: Fragment) =>
    records<{ readonly organizationId: string }>()(ask((own) => own`${statement}`))

  return {
    /** Whether tables may be sharded by organization. Then a statement can contain only one organization. */
    isSharded,

    /**
     * Those of the named meters that exist, with their totals around an instant, in one round trip; on Citus in one for each
     * organization. Meters of instances with open allowances take another: the parts of the statement that read allowances would cost
     * all others. The fences `OFFSET 0` force one index look-up for each, whatever PostgreSQL's statistics are.
     */
    read: Effect.fnUntraced(function* (
      named: ReadonlyArray<OrganizationMeterName>,
      at: Date,
    ): Effect.fn.Return<ReadonlyArray<MeterSnapshot>> {
      const rows = yield* rowsOf(named, at, false)
      const allowing = rows.filter((row) => isAllowing(row, at))
      if (allowing.length === 0) return rows.map((row) => snapshotOf(row, at))
      const complete = yield* rowsOf(namesOf(allowing), at, true)
      return [...rows.filter((row) => !isAllowing(row, at)), ...complete].map((row) => snapshotOf(row, at))
    }),

    /**
     * Stores what was posted to accounts: all accounts of an organization, or none. It stores none if one of them has
     * changed since it was read, or another transaction has locked it. It never waits. Returns the organizations whose
     * accounts were stored.
     */
    store: (accounts: ReadonlyArray<Account>, at: Date): Effect.Effect<ReadonlySet<string>> =>
      Effect.map(
        isSharded
          ? inEachOrganization(
              accounts,
              ({ meter }) => meter.organizationId,
              (organizationId, own) => stored(storeWithin(sql, organizationId, own, at)),
            )
          : stored(storeAcross(sql, accounts, at)),
        (rows) => new Set(rows.map(({ organizationId }) => organizationId)),
      ),
  }
})

/** Rows of meters and totals, without locks. */
export class OptimisticRepo extends Context.Service<OptimisticRepo, Effect.Success<typeof make>>()(
  "keyshelf/usage/ledger/optimistic/OptimisticRepo",
) {
  static readonly layer = Layer.effect(OptimisticRepo, make)
}
