/**
 * SQL fragments of credits, for what decides by them. `instances.extras` lists the entitlements that an instance has, or had, credits for:
 * without it, no statement reads credits.
 */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { setAside, setAsideInPast } from "./HeldSql.ts"
import type { HeldBounds, HeldMeter } from "./HeldSql.ts"

/** Whether the instance `i` has, or had, credits of the entitlement of this id (SQL). */
export const hasCredits = (entitlement: string): string =>
  `coalesce(jsonb_exists(i.extras -> 'credits', ${entitlement}::text), false)`

/** The credit `c` as `StoredCredit`; `aside.quantities` are what is set aside of the credits of its meter. */
export const storedCredit = (used = "c.used", voidedAt = "c.voided_at"): string =>
  `jsonb_build_object('id', c.id, 'amount', c.amount::text, 'priority', c.priority, 'startsAt', c.starts_at,
        'expiresAt', c.expires_at, 'createdAt', c.created_at, 'voidedAt', ${voidedAt}, 'reason', c.reason, 'used', (${used})::text,
        'reserved', aside.quantities ->> c.id::text)`

/** The credits `c` of a meter. */
export const creditsOfMeter = (sql: SqlClient, { entitlement, instance, organization }: HeldMeter): Fragment =>
  sql`c.organization_id = ${organization} AND c.holder_id = ${sql.literal(instance)} AND c.entitlement_id = ${sql.literal(entitlement)}`

/** Whether an instant (SQL) is in the window of the credit `c`. */
const isInWindow = (at: string): string =>
  `c.starts_at <= ${at} AND coalesce(c.expires_at, 'infinity'::timestamptz) > ${at}`

const isActive = (at: string): string => `c.voided_at IS NULL AND ${isInWindow(at)}`

/** Whether the credit `c` can pay for usage at or after an instant (SQL). */
export const canPayAfter = (at: string): string =>
  `NOT c.is_spent AND c.voided_at IS NULL AND coalesce(c.expires_at, 'infinity'::timestamptz) > ${at}`

/**
 * The credits of a meter that can pay at the instant of the bounds or later, and one that is used up and still grants, as an array of
 * `StoredCredit`s in any order; `NULL` without any.
 */
export const activeCredits = (sql: SqlClient, meter: HeldMeter, bounds: HeldBounds): Fragment => {
  const stored = sql.literal(storedCredit())
  const { at } = bounds
  return sql`
      SELECT jsonb_agg(credit) FROM (SELECT (${setAside(sql, meter, bounds)}) AS quantities OFFSET 0) aside
      CROSS JOIN LATERAL (
        SELECT ${stored} AS credit FROM credits c WHERE ${creditsOfMeter(sql, meter)} AND ${sql.literal(canPayAfter(at))}
        UNION ALL (
          SELECT ${stored} FROM credits c
          WHERE ${creditsOfMeter(sql, meter)} AND c.is_spent AND ${sql.literal(isActive(at))} LIMIT 1
        )
      ) active`
}

// What was paid later is subtracted, because it is still stored where earlier uses are only summed.
/** What a credit `c` had paid at an instant of the past (SQL), by what is known now. */
const usedInPast = (at: string): string => `c.used - coalesce((
          SELECT sum(u.quantity) FROM credit_uses u
          WHERE u.organization_id = c.organization_id AND u.credit_id = c.id AND u.at > ${at} AND u.voided_at IS NULL), 0)`

/** The credits of a meter that were active at an instant of the past (SQL), also those that were voided later; `NULL` without any. */
export const pastCredits = (sql: SqlClient, meter: HeldMeter, at: string): Fragment => sql`
      SELECT jsonb_agg(${sql.literal(storedCredit(usedInPast(at), "NULL"))})
      FROM (SELECT (${setAsideInPast(sql, meter, at)}) AS quantities OFFSET 0) aside
      JOIN credits c ON ${creditsOfMeter(sql, meter)} AND ${sql.literal(isInWindow(at))}
        AND (c.voided_at IS NULL OR c.voided_at > ${sql.literal(at)})`

/** Whether a meter had credits at an instant of the past (SQL) before the end of the months whose uses are only summed. */
export const isPastUnknown = (sql: SqlClient, meter: HeldMeter, at: string): Fragment => sql`EXISTS (
      SELECT 1 FROM credits c
      WHERE ${creditsOfMeter(sql, meter)} AND c.starts_at <= ${sql.literal(at)} AND c.dropped_until > ${sql.literal(at)})`

/** What credits had paid at an instant of the past (SQL) of the usage of the total `t`. */
export const burnedInPast = (sql: SqlClient, organization: Fragment, at: string): Fragment => sql`
      SELECT t.burned - coalesce(sum(u.quantity), 0) FROM credit_uses u
      WHERE u.organization_id = ${organization} AND u.instance_id = t.instance_id AND u.entitlement_id = t.entitlement_id
        AND u.period_start = t.period_start AND u.at > ${sql.literal(at)} AND u.voided_at IS NULL`

/** What credits paid of the event `e` of usage, as decimals by credit; `NULL` if nothing. */
export const paidByCredits = `(
      SELECT jsonb_agg(jsonb_build_object('id', paid.credit_id, 'quantity', paid.quantity::text) ORDER BY paid.first) FROM (
        SELECT u.credit_id, sum(u.quantity) AS quantity, min(u.id::text) AS first FROM credit_uses u
        WHERE u.organization_id = e.organization_id AND u.instance_id = e.instance_id AND u.entitlement_id = e.entitlement_id
          AND u.period_start = e.period_start AND u.ordinal = e.ordinal
        GROUP BY u.credit_id
      ) paid)`
