/**
 * The check of the comparators: one statement for any number of entitlements, and a decision on its rows. It covers only what the
 * benchmarks use: numeric entitlements with calendar periods, in amounts that JavaScript numbers represent exactly.
 */

/** Reads the same rows as Keyshelf does. `OFFSET 0` keeps PostgreSQL at one plan that uses only index lookups. */
export const CHECK = `SELECT i.slug AS instance, l.slug AS license, i.start_license_date AS "startLicenseDate",
    i.end_license_date AS "endLicenseDate", e.slug AS entitlement, e.type, e.reset_period AS "resetPeriod",
    g.value #>> '{}' AS granted, g.overage_percent AS "overagePercent", t.value::text AS used, h.quantity::text AS reserved
  FROM instances i
  CROSS JOIN (SELECT $3::timestamptz AS at) evaluation
  JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
  LEFT JOIN entitlements e ON e.organization_id = i.organization_id AND e.slug = ANY(ARRAY(SELECT unnest($4::text[])))
  LEFT JOIN LATERAL (
    SELECT value, overage_percent FROM license_entitlements
    WHERE organization_id = i.organization_id AND license_id = i.license_id AND entitlement_id = e.id OFFSET 0
  ) g ON true
  LEFT JOIN LATERAL (
    SELECT value FROM usage_totals
    WHERE organization_id = i.organization_id AND instance_id = i.id AND entitlement_id = e.id
      AND period_start = date_trunc(e.reset_period, evaluation.at) OFFSET 0
  ) t ON true
  LEFT JOIN LATERAL (
    SELECT sum(quantity) AS quantity FROM usage_reservations
    WHERE organization_id = i.organization_id AND instance_id = i.id AND entitlement_id = e.id AND state = 'HELD'
      AND expires_at > evaluation.at AND expires_at <= evaluation.at + interval '25 hours' OFFSET 0
  ) h ON true
  WHERE i.organization_id = $1 AND i.slug = $2`

const UNKNOWN = {
  limit: null,
  usage: null,
  remaining: null,
  overage: null,
  currentPeriodStart: null,
  currentPeriodEnd: null,
}

const MONTHS = { MONTH: 1, YEAR: 12 }

/** The calendar period that contains the instant, as in responses. */
export const periodAt = (resetPeriod, at) => {
  const months = MONTHS[resetPeriod]
  if (months === undefined) throw new Error(`The comparators do not support the period ${resetPeriod}`)
  const year = at.getUTCFullYear()
  const month = months === 12 ? 0 : at.getUTCMonth()
  return {
    currentPeriodStart: new Date(Date.UTC(year, month, 1)).toISOString(),
    currentPeriodEnd: new Date(Date.UTC(year, month + months, 1)).toISOString(),
  }
}

const reasonFor = (row, limit, amount, at) => {
  if (at.getTime() < row.startLicenseDate.getTime()) return "LICENSE_NOT_STARTED"
  if (row.endLicenseDate !== null && at.getTime() >= row.endLicenseDate.getTime()) return "LICENSE_EXPIRED"
  if (limit === null) return "NOT_GRANTED"
  if (limit === -1) return "UNLIMITED"
  if (amount <= limit) return "GRANTED"
  return amount <= limit * (1 + row.overagePercent / 100) ? "SOFT_LIMIT" : "LIMIT_REACHED"
}

const ALLOWING = new Set(["GRANTED", "UNLIMITED", "SOFT_LIMIT"])

const decide = (row, requested, at) => {
  const limit = row.granted === null ? null : Number(row.granted)
  const usage = Number(row.used ?? 0)
  const reserved = Number(row.reserved ?? 0)
  const reason = reasonFor(row, limit, usage + reserved + requested, at)
  const isBounded = limit !== null && limit !== -1
  return {
    allowed: ALLOWING.has(reason),
    reason,
    limit,
    usage,
    remaining: isBounded ? Math.max(0, limit - usage - reserved) : limit,
    overage: isBounded ? Math.max(0, usage - limit) : limit === null ? null : 0,
    ...periodAt(row.resetPeriod, at),
  }
}

/** Builds the response from the rows of {@link CHECK}; `undefined` if the instance does not exist. */
export const checkResponse = (rows, checks, at) => {
  const [first] = rows
  if (first === undefined) return undefined
  const known = new Map(rows.map((row) => [row.entitlement, row]))
  return {
    instance: first.instance,
    license: first.license,
    at: at.toISOString(),
    graceEndsAt: null,
    checks: checks.map(({ entitlement, requested = 1 }) => {
      const row = known.get(entitlement)
      return row === undefined
        ? { entitlement, allowed: false, reason: "ENTITLEMENT_NOT_FOUND", ...UNKNOWN }
        : { entitlement, ...decide(row, requested, at) }
    }),
  }
}
