/**
 * SQL of what is held of a meter: which reservations hold a quantity, and which allowances are open. Only this file selects them;
 * `rules/Held.ts` adds up what they hold of a period. Statements differ in the bounds that they know, see {@link HeldBounds}.
 */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { MAX_LIFETIME_SECONDS } from "../rules/Held.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** A meter, as SQL. */
export interface HeldMeter {
  readonly organization: Fragment
  readonly instance: string
  readonly entitlement: string
}

/** The instant at which something has to be held, and what else a statement knows, each as SQL. */
export interface HeldBounds {
  readonly at: string
  /** What was created after this instant is ignored. It is at most an hour after `at`. */
  readonly known?: string
  /** The start of the period, where it may be after the instant. */
  readonly begins?: string
  /** The end of the period; `infinity` if it does not end. What was created from then on is ignored. */
  readonly ends?: string
}

/** The bounds of a reader that knows the start of the period, as SQL. A tranche holds units of its own period alone. */
interface PeriodBounds extends HeldBounds {
  readonly period: string
}

/** The longest life of a reservation, and an hour by which the clocks of two nodes may differ. */
const LIFETIME_BOUND = `interval '${MAX_LIFETIME_SECONDS / 3600 + 1} hours'`

const latest = ({ at, begins }: HeldBounds): string => (begins === undefined ? at : `greatest(${at}, ${begins})`)

const isCreated = (column: string, { ends, known }: HeldBounds): string =>
  (known === undefined ? "" : ` AND ${column} <= ${known}`) + (ends === undefined ? "" : ` AND ${column} < ${ends}`)

/**
 * Whether a reservation holds its quantity. Where it is known which ones were created, the bound of their expiry lets PostgreSQL
 * read only the end of the index of held reservations.
 */
const isHeld = (bounds: HeldBounds): string =>
  `state = 'HELD' AND expires_at > ${latest(bounds)}${
    bounds.known === undefined ? "" : ` AND expires_at <= ${bounds.at} + ${LIFETIME_BOUND}`
  }${isCreated("created_at", bounds)}`

const isOfPeriod = (period: string): string => `(ledger IS NULL OR period_start = ${period})`

/** Whether a reservation held its quantity at an instant of the past, whatever has become of it. */
const wasHeld = (at: string): string =>
  `created_at <= ${at} AND created_at > ${at} - ${LIFETIME_BOUND} AND expires_at > ${at}
        AND (ended_at IS NULL OR ended_at > ${at})`

/** Whether an allowance is open: its site may use it, or has yet to upload what it used. */
const isOpen = (bounds: HeldBounds): string =>
  `open_until > ${latest(bounds)} AND (ended_at IS NULL OR ended_at > ${bounds.at})${isCreated("valid_from", bounds)}`

const ofMeter = (sql: SqlClient, { entitlement, instance, organization }: HeldMeter): Fragment =>
  sql`organization_id = ${organization} AND instance_id = ${sql.literal(instance)} AND entitlement_id = ${sql.literal(entitlement)}`

/** What a reservation holds of the limit: the rest is set aside of credits. */
const OF_LIMIT = "quantity - from_credits"

const sumOf = (sql: SqlClient, meter: HeldMeter, condition: string): Fragment => sql`
      SELECT sum(${sql.literal(OF_LIMIT)}) AS quantity FROM usage_reservations
      WHERE ${ofMeter(sql, meter)} AND ${sql.literal(condition)}`

/** The quantity that reservations, and the tranches of the period, hold; `null` without any. */
export const reservedQuantity = (sql: SqlClient, meter: HeldMeter, bounds: PeriodBounds): Fragment =>
  sumOf(sql, meter, `${isHeld(bounds)} AND ${isOfPeriod(bounds.period)}`)

/**
 * The quantity that reservations hold, and as `tranches` what the tranches of the period do, which starts at a total that may be another
 * one; `null` without any.
 */
export const reservedApart = (sql: SqlClient, meter: HeldMeter, { period, ...bounds }: PeriodBounds): Fragment => sql`
      SELECT sum(${sql.literal(OF_LIMIT)}) FILTER (WHERE ledger IS NULL) AS quantity,
        sum(${sql.literal(OF_LIMIT)}) FILTER (WHERE period_start = ${sql.literal(period)} AND ledger IS NOT NULL) AS tranches
      FROM usage_reservations WHERE ${ofMeter(sql, meter)} AND ${sql.literal(isHeld(bounds))}`

const asideOf = (sql: SqlClient, meter: HeldMeter, condition: string): Fragment => sql`
      SELECT jsonb_object_agg(credit, quantity) AS quantities FROM (
        SELECT item ->> 'credit' AS credit, sum((item ->> 'quantity')::numeric)::text AS quantity
        FROM usage_reservations CROSS JOIN LATERAL jsonb_array_elements(credits) item
        WHERE ${ofMeter(sql, meter)} AND from_credits > 0 AND ${sql.literal(condition)}
        GROUP BY 1
      ) aside`

/** What reservations have set aside of credits, as decimal texts by the id of the credit; `null` without any. */
export const setAside = (sql: SqlClient, meter: HeldMeter, bounds: HeldBounds): Fragment =>
  asideOf(sql, meter, isHeld(bounds))

/** What reservations had set aside at an instant of the past; `null` without any. */
export const setAsideInPast = (sql: SqlClient, meter: HeldMeter, at: string): Fragment =>
  asideOf(sql, meter, wasHeld(at))

/** Whether reservations hold something of the instance, expired ones included: cheaper than to add them up. */
export const hasReservations = (
  sql: SqlClient,
  { instance, organization }: Omit<HeldMeter, "entitlement">,
): Fragment => sql`EXISTS (
            SELECT 1 FROM usage_reservations
            WHERE organization_id = ${organization} AND instance_id = ${sql.literal(instance)} AND state = 'HELD'
          )`

/** The quantity that reservations held at an instant of the past; `null` without any. */
export const reservedInPast = (sql: SqlClient, meter: HeldMeter, at: string): Fragment =>
  sumOf(sql, meter, `ledger IS NULL AND ${wasHeld(at)}`)

/** The quantity that the tranches of a period held at an instant of the past; `null` without any. */
export const tranchesInPast = (sql: SqlClient, meter: HeldMeter, at: string, period: string): Fragment =>
  sumOf(sql, meter, `ledger IS NOT NULL AND period_start = ${period} AND ${wasHeld(at)}`)

/** The open allowances as `OpenAllowance`s; `null` without any. */
export const openAllowances = (sql: SqlClient, meter: HeldMeter, bounds: HeldBounds): Fragment => sql`
      SELECT jsonb_agg(jsonb_build_object('validUntil', valid_until, 'quantity', quantity::text)) AS allowances
      FROM offline_allowances WHERE ${ofMeter(sql, meter)} AND ${sql.literal(isOpen(bounds))}`

/** How much ledgers have brought of the period that starts then; `null` if nothing. */
export const broughtIn = (sql: SqlClient, meter: HeldMeter, begins: string): Fragment => sql`
      SELECT quantity::text FROM offline_period_usage
      WHERE ${ofMeter(sql, meter)} AND period_start = ${sql.literal(begins)}`

/** A part that is read only if the instance `i` has open allowances at `asked.at`; otherwise it is `null`. */
export const ifAllowing = (sql: SqlClient, part: Fragment): Fragment =>
  sql`CASE WHEN i.allowances_until > asked.at THEN (${part}) END`

/**
 * The most that is held of the meters of these instances in any period: what reservations hold, the tranches of the period that has most
 * of them, and the greatest open allowance. What ledgers have brought is not subtracted, because it belongs to one period.
 */
export const mostHeld = (
  sql: SqlClient,
  organizationId: OrganizationId,
  instances: ReadonlyArray<string>,
  at: Date,
): Fragment => {
  const bounds = { at: "(SELECT at FROM given)" }
  return sql`
        WITH given AS MATERIALIZED (SELECT ARRAY(SELECT unnest(${instances}::uuid[])) AS instances, ${at}::timestamptz AS at)
        SELECT instance_id AS "instanceId", entitlement_id AS "entitlementId", sum(quantity)::text AS quantity
        FROM (
          SELECT instance_id, entitlement_id, max(quantity) AS quantity FROM (
            SELECT instance_id, entitlement_id, ledger IS NULL AS is_reserved, sum(${sql.literal(OF_LIMIT)}) AS quantity FROM usage_reservations
            WHERE organization_id = ${organizationId} AND instance_id = ANY((SELECT instances FROM given)::uuid[])
              AND ${sql.literal(isHeld(bounds))}
            GROUP BY 1, 2, 3, CASE WHEN ledger IS NOT NULL THEN period_start END
          ) periods
          GROUP BY instance_id, entitlement_id, is_reserved
          UNION ALL
          SELECT instance_id, entitlement_id, max(quantity) FROM offline_allowances
          WHERE organization_id = ${organizationId} AND instance_id = ANY((SELECT instances FROM given)::uuid[])
            AND ${sql.literal(isOpen(bounds))}
          GROUP BY 1, 2
        ) held
        GROUP BY 1, 2`
}
