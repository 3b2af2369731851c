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
export interface OrganizationMeterName extends MeterName {
  readonly organizationId: string
}

type SnapshotRow = MeterRow &
  ((StoredTotal & HeldParts & { readonly decidedAt: Date | null }) | { readonly periodStart: null })

const snapshotOf = (row: SnapshotRow, at: Date): MeterSnapshot => {
  const meter = meterOf(row, at)
  if (row.periodStart === null) return { meter, total: null }
  const decidedAt = row.decidedAt !== null && isBefore(at, row.decidedAt) ? row.decidedAt : at
  return { meter, total: { ...totalRowOf(row), held: heldOf(row, { start: row.periodStart }), decidedAt } }
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* Commits
  const isSharded = yield* hasCitus(sql)
  const columns = sql.literal(`${meterColumns}, ${totalColumns}, t.decided_at AS "decidedAt"`)
  const termsAndTotals = (organization: Fragment) => sql`
          ${licenseJoin(sql, organization)} ${grantJoin(sql, organization)}
          ${totalsAround(sql, organization, "t.*, t.xmin, t.ctid")}`
  const heldColumns = (organization: Fragment) => {
    const meter = meterOfInstance(organization)
    const bounds = { at: "greatest(asked.at, t.decided_at)" }
    return sql`(${reservedQuantity(sql, meter, bounds)})::text AS held,
            ${ifAllowing(sql, openAllowances(sql, meter, bounds))} AS allowances, ${broughtInTotal(sql, organization)}`
  }
  const own = ownOrganization(sql)
  const ofEach = {
    asked: sql.literal("asked.organization_id"),
    held: heldColumns(own),
    termsAndTotals: termsAndTotals(own),
  }
  const ofOne = (organization: Fragment): typeof ofEach => ({
    asked: organization,
    held: heldColumns(organization),
    termsAndTotals: termsAndTotals(organization),
  })
  const snapshots = (
    named: ReadonlyArray<OrganizationMeterName>,
    at: Date,
    { asked, held, termsAndTotals }: typeof ofEach,
  ) =>
    records<SnapshotRow>()(
      ask(
        (own) => own`
          SELECT ${columns}, ${held}
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
  const stored = (statement: Fragment) =>
    records<{ readonly organizationId: string }>()(ask((own) => own`${statement}`))

  return {
    /** Whether tables may be sharded by organization. Then a statement can contain only one organization. */
    isSharded,

    /**
     * Those of the named meters that exist, with their totals around an instant, in one round trip; on Citus in one for each
     * organization. The fences `OFFSET 0` force one index look-up for each, whatever PostgreSQL's statistics are.
     */
    read: (named: ReadonlyArray<OrganizationMeterName>, at: Date): Effect.Effect<ReadonlyArray<MeterSnapshot>> =>
      Effect.map(
        isSharded
          ? inEachOrganization(
              named,
              ({ organizationId }) => organizationId,
              (organizationId, own) => snapshots(own, at, ofOne(sql`${organizationId}`)),
            )
          : snapshots(named, at, ofEach),
        (rows) => rows.map((row) => snapshotOf(row, at)),
      ),

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
