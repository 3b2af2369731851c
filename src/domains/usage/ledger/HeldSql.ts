/**
 * SQL of what reservations and allowances hold of a period: the same as the functions `usage_held` and `offline_held` (migration 43)
 * say. It is for Citus, which runs no function that reads tables on a shard.
 */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** A period and an instant, each as SQL. */
export interface HeldPeriod {
  readonly instance: string
  readonly entitlement: string
  readonly begins: string
  /** `infinity` if the period does not end. */
  readonly ends: string
  readonly at: string
}

/** What allowances still reserve of the period: the greatest of those that are open, without what ledgers have brought already. */
export const heldOffline = (sql: SqlClient, organization: Fragment, period: HeldPeriod): Fragment => {
  const [begins, ends, at] = [sql.literal(period.begins), sql.literal(period.ends), sql.literal(period.at)]
  const ofMeter = sql`organization_id = ${organization} AND instance_id = ${sql.literal(period.instance)}
        AND entitlement_id = ${sql.literal(period.entitlement)}`
  return sql`greatest(0, (
      SELECT max(quantity) FROM offline_allowances
      WHERE ${ofMeter} AND valid_until > ${begins} AND valid_from < ${ends} AND open_until > greatest(${at}, ${begins})
        AND (ended_at IS NULL OR ended_at > ${at})
    ) - coalesce((SELECT quantity FROM offline_period_usage WHERE ${ofMeter} AND period_start = ${begins}), 0))`
}

/** {@link heldOffline}, and what reservations hold. */
export const heldOf = (sql: SqlClient, organization: Fragment, period: HeldPeriod): Fragment => {
  const [begins, ends, at] = [sql.literal(period.begins), sql.literal(period.ends), sql.literal(period.at)]
  return sql`${heldOffline(sql, organization, period)} + (
      SELECT coalesce(sum(quantity), 0) FROM usage_reservations
      WHERE organization_id = ${organization} AND instance_id = ${sql.literal(period.instance)}
        AND entitlement_id = ${sql.literal(period.entitlement)} AND state = 'HELD'
        AND expires_at > greatest(${at}, ${begins}) AND created_at < ${ends})`
}
