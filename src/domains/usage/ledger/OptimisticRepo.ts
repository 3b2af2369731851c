/**
 * SQL that reads meters and totals without a lock, and stores what was posted to totals that have not changed since.
 */
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Context, Effect, Layer } from "effect"
import { Commits } from "../../../kernel/database/Connections.ts"
import { column, hasCitus, records } from "../../../kernel/database/Statements.ts"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import { isBefore } from "../../../kernel/values/Timestamp.ts"
import { grantJoin, licenseJoin, totalsAround } from "../TermsSql.ts"
import type { Account } from "./Account.ts"
import { meterColumns, meterOf, totalColumns, totalRowOf } from "./LedgerRepo.ts"
import type { LockedTotal, MeterRow, StoredTotal } from "./LedgerRepo.ts"
import type { Meter } from "./Model.ts"
import type { MeterName } from "./Operation.ts"

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
  (
    | (StoredTotal & { readonly held: string; readonly decidedAt: Date | null })
    | { readonly periodStart: null; readonly held: string }
  )

const snapshotOf = (row: SnapshotRow, at: Date): MeterSnapshot => {
  const meter = meterOf(row, at)
  if (row.periodStart === null) return { meter, total: null }
  const decidedAt = row.decidedAt !== null && isBefore(at, row.decidedAt) ? row.decidedAt : at
  return { meter, total: { ...totalRowOf(row), held: storedDecimal(row.held), decidedAt } }
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* Commits
  const isSharded = yield* hasCitus(sql)
  const held = `CASE WHEN i.allowances_until > asked.at THEN h.quantity
      + offline_held(i.organization_id, i.id, e.id, t.period_start, NULL, greatest(asked.at, t.decided_at))
    ELSE h.quantity END::text AS held`
  const columns = sql.literal(`${meterColumns}, ${totalColumns}, t.decided_at AS "decidedAt", ${held}`)
  const ownOrganization = sql.literal("asked.organization_id")
  const licenseAndGrant = sql.literal(`${licenseJoin} ${grantJoin}`)
  const around = sql.literal(totalsAround("t.*, t.xmin, t.ctid"))
  return {
    /** Whether tables may be sharded by organization. Then a statement can contain only one organization. */
    isSharded,

    /**
     * Those of the named meters that exist, with their totals around an instant, in one round trip. The fences `OFFSET
     * 0` force one index look-up for each, whatever PostgreSQL's statistics are.
     */
    read: (named: ReadonlyArray<OrganizationMeterName>, at: Date): Effect.Effect<ReadonlyArray<MeterSnapshot>> => {
      const organization = isSharded ? (named[0]?.organizationId ?? null) : ownOrganization
      return Effect.map(
        records<SnapshotRow>()(
          ask(
            (own) => own`
          SELECT ${columns}
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
            SELECT * FROM instances WHERE organization_id = ${organization} AND slug = asked.instance OFFSET 0
          ) i
          CROSS JOIN LATERAL (
            SELECT * FROM entitlements WHERE organization_id = ${organization} AND slug = asked.entitlement OFFSET 0
          ) e
          ${licenseAndGrant}
          ${around}
          CROSS JOIN LATERAL (
            SELECT coalesce(sum(quantity), 0) AS quantity FROM usage_reservations
            WHERE organization_id = i.organization_id AND instance_id = i.id AND entitlement_id = e.id AND state = 'HELD'
              AND expires_at > greatest(asked.at, t.decided_at)
            OFFSET 0
          ) h`,
          ),
        ),
        (rows) => rows.map((row) => snapshotOf(row, at)),
      )
    },

    /**
     * Stores what was posted to accounts: all accounts of an organization, or none. It stores none if one of them has
     * changed since it was read, or another transaction has locked it. It never waits. Returns the organizations whose
     * accounts were stored. The location and the writing transaction (`ctid`, `xmin`) identify a version of a row.
     */
    store: (accounts: ReadonlyArray<Account>, at: Date): Effect.Effect<ReadonlySet<string>> => {
      const sizes = new Map<string, number>()
      for (const { meter } of accounts) sizes.set(meter.organizationId, (sizes.get(meter.organizationId) ?? 0) + 1)
      const events = accounts.flatMap((account, n) => account.events.map((event) => ({ n, event })))
      const totals = accounts.map(({ total }) => total)
      const crossings = accounts.map((account) => account.crossings)
      return Effect.map(
        records<{ readonly organizationId: string }>()(
          ask(
            (own) => own`
          WITH changed AS MATERIALIZED (
            SELECT t.ctid AS now_at, t.organization_id, t.instance_id, t.entitlement_id, t.period_start, seen.*
            FROM unnest(
              (SELECT ${column("text", accounts, ({ stored }) => stored.location)}::tid[]),
              ${column("text", accounts, ({ stored }) => stored.version)}::xid[],
              ${column("text", totals, ({ value }) => BigDecimal.format(value))}::numeric[],
              ${column("float8", totals, ({ eventCount }) => eventCount)},
              ${column("text", totals, ({ sum }) => BigDecimal.format(sum))}::numeric[],
              ${column("float8", totals, ({ valueCount }) => valueCount)},
              ${column("timestamptz", totals, ({ setAt }) => setAt)},
              ${column("timestamptz", totals, ({ latestAt }) => latestAt)},
              ${column("timestamptz", totals, ({ lastAt }) => lastAt)},
              ${column("bool", crossings, ({ warned }) => warned)},
              ${column("bool", crossings, ({ limitReached }) => limitReached)},
              ${column("bool", crossings, ({ capExceeded }) => capExceeded)},
              ${column("int4", accounts, ({ meter }) => sizes.get(meter.organizationId))}
            ) WITH ORDINALITY AS seen (location, version, value, event_count, sum, value_count, set_at, latest_at, last_at,
              warned, limit_reached, cap_exceeded, of_organization, n)
            JOIN usage_totals t ON t.ctid = seen.location AND t.xmin = seen.version
            FOR NO KEY UPDATE OF t SKIP LOCKED
          ), whole AS MATERIALIZED (
            SELECT organization_id AS id FROM changed GROUP BY organization_id HAVING count(*) = min(of_organization)
          ), counted AS (
            INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp,
              behavior, value, unique_key, metadata, reported_at, reported_by, transaction_id, source)
            SELECT changed.organization_id, changed.instance_id, changed.entitlement_id, changed.period_start,
              posted.ordinal, posted.timestamp, posted.behavior, posted.value, posted.unique_key, posted.metadata,
              ${at}::timestamptz, posted.reported_by, posted.transaction_id, posted.source
            FROM unnest(
              (SELECT ${column("int4", events, ({ n }) => n + 1)}),
              ${column("float8", events, ({ event }) => event.ordinal)},
              ${column("timestamptz", events, ({ event }) => event.timestamp)},
              ${column("text", events, ({ event }) => event.behavior)},
              ${column("text", events, ({ event }) => BigDecimal.format(event.value))}::numeric[],
              ${column("text", events, ({ event }) => event.uniqueKey)},
              ${column("text", events, ({ event }) => event.metadata && JSON.stringify(event.metadata))}::jsonb[],
              ${column("text", events, ({ event }) => JSON.stringify(event.reportedBy))}::jsonb[],
              ${column("text", events, ({ event }) => event.transactionId ?? null)},
              ${column("text", events, ({ event }) => event.source ?? null)}
            ) AS posted (n, ordinal, timestamp, behavior, value, unique_key, metadata, reported_by, transaction_id, source)
            JOIN changed ON changed.n = posted.n
            WHERE changed.organization_id IN (SELECT id FROM whole)
          )
          UPDATE usage_totals t SET value = changed.value, event_count = changed.event_count, sum = changed.sum,
            value_count = changed.value_count, set_at = changed.set_at, latest_at = changed.latest_at,
            last_at = changed.last_at, warned = changed.warned, limit_reached = changed.limit_reached,
            cap_exceeded = changed.cap_exceeded, decided_at = greatest(t.decided_at, ${at}::timestamptz)
          FROM changed WHERE t.ctid = changed.now_at AND changed.organization_id IN (SELECT id FROM whole)
          RETURNING t.organization_id AS "organizationId"`,
          ),
        ),
        (rows) => new Set(rows.map(({ organizationId }) => organizationId)),
      )
    },
  }
})

/** Rows of meters and totals, without locks. */
export class OptimisticRepo extends Context.Service<OptimisticRepo, Effect.Success<typeof make>>()(
  "keyshelf/usage/ledger/OptimisticRepo",
) {
  static readonly layer = Layer.effect(OptimisticRepo, make)
}
