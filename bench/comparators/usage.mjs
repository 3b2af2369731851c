/**
 * Usage of the comparators: one statement reads the meter, another updates the total and inserts the event, guarded by the limit.
 * So they need no transaction. They support one entitlement per request and report no thresholds.
 */
import { CHECK, checkResponse, periodAt } from "./check.mjs"

const METERED = CHECK.replace(
  "SELECT",
  `SELECT i.id AS "instanceId", e.id AS "entitlementId", e.name AS "entitlementName", t.event_count AS "eventCount",`,
).replace("SELECT value FROM usage_totals", "SELECT value, event_count FROM usage_totals")

const counting = (total) => `WITH counted AS (${total} RETURNING value, event_count), event AS (
    INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
      reported_at, reported_by)
    SELECT $1::uuid, $2::uuid, $3::uuid, $4::timestamptz, event_count, $6::timestamptz, 'append', $5::numeric, $6::timestamptz,
      $7::jsonb FROM counted)
  SELECT value::text AS used, event_count::int AS "eventCount" FROM counted`

const ADD = counting(`UPDATE usage_totals SET value = value + $5::numeric, event_count = event_count + 1,
    sum = sum + $5::numeric, value_count = value_count + 1, latest_at = greatest(latest_at, $6::timestamptz),
    last_at = greatest(last_at, $6::timestamptz), decided_at = greatest(decided_at, $6::timestamptz)
  WHERE organization_id = $1 AND instance_id = $2 AND entitlement_id = $3 AND period_start = $4
    AND coalesce(value + $5::numeric <= $8::numeric, true)`)

const BEGIN =
  counting(`INSERT INTO usage_totals (organization_id, instance_id, entitlement_id, period_start, value, event_count,
    sum, value_count, latest_at, last_at, decided_at)
  SELECT $1, $2, $3, $4, $5, 1, $5, 1, $6, $6, $6 WHERE coalesce($5::numeric <= $8::numeric, true)
  ON CONFLICT DO NOTHING`)

/** Consumes and reports usage with the pool. `statement` creates a statement, named if the comparator names them. */
export const usage = (pool, statement) => {
  const readMeter = statement("meter", METERED)
  const add = statement("usage-add", ADD)
  const begin = statement("usage-begin", BEGIN)

  const meterOf = async (organizationId, instance, entitlement, at) =>
    (await pool.query(readMeter([organizationId, instance, at, [entitlement]]))).rows[0]

  /** Returns the new total; `undefined` if the limit denies it, or a concurrent request created the total. */
  const count = async ({ actor, organizationId }, row, amount, at) => {
    const { currentPeriodStart } = periodAt(row.resetPeriod, at)
    const cap = row.granted === "-1" ? null : Number(row.granted) * (1 + row.overagePercent / 100)
    const write = row.used === null ? begin : add
    const values = [organizationId, row.instanceId, row.entitlementId, currentPeriodStart, amount, at, actor, cap]
    return (await pool.query(write(values))).rows[0]
  }

  return {
    consume: async (caller, instance, checks) => {
      const [{ entitlement, requested = 1 }, ...others] = checks
      if (others.length > 0) throw new Error("The comparators consume one entitlement per request")
      for (;;) {
        const at = new Date()
        const row = await meterOf(caller.organizationId, instance, entitlement, at)
        const response = checkResponse(row === undefined ? [] : [row], checks, at)
        if (response === undefined || !response.checks[0].allowed) return response
        const counted = await count(caller, row, requested, at)
        if (counted !== undefined) return checkResponse([{ ...row, ...counted }], [{ entitlement, requested: 0 }], at)
      }
    },

    report: async (caller, instance, entitlement, value) => {
      for (;;) {
        const at = new Date()
        const row = await meterOf(caller.organizationId, instance, entitlement, at)
        if (row === undefined || row.granted === null) return undefined
        const counted = await count(caller, row, value, at)
        if (counted === undefined) continue
        return {
          ...periodAt(row.resetPeriod, at),
          entitlementId: row.entitlementId,
          entitlementName: row.entitlementName,
          entitlementSlug: row.entitlement,
          entitlementType: row.type,
          licenseValue: { type: "number", value: Number(row.granted), event_count: 0 },
          usageValue: { type: "number", value: Number(counted.used), event_count: counted.eventCount },
        }
      }
    },
  }
}
