/**
 * What may be promised for a future period: never more than a check at any instant of it would allow, by what is known now. A site
 * without a network cannot be corrected later. Pure.
 */
import { BigDecimal } from "effect"
import { decimalText } from "../../../kernel/values/Decimal.ts"
import type { AggregationMethod, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import { capOf, isUnlimited } from "../rules/Decision.ts"
import type { Grant } from "../rules/Decision.ts"
import { configurationOf, grantOf } from "../rules/Grants.ts"
import type { GrantedTerms } from "../rules/Grants.ts"
import { limitOf } from "../rules/Limits.ts"
import type { Limit } from "../rules/Limits.ts"
import { periodAt } from "../rules/Period.ts"
import type { CheckedEntitlement } from "../rules/Terms.ts"
import type { EntitlementSnapshot, Life, PeriodStarts } from "./Model.ts"

/** An entitlement as a snapshot reads it. */
export type SnapshotRow = CheckedEntitlement & { readonly aggregationMethod: AggregationMethod | null }

/** What is used of an entitlement in the present period. */
interface Used {
  readonly amount: BigDecimal.BigDecimal
  readonly from: Date
}

/** The grants at the instants of a lifetime at which the grant may change. */
const grantsDuring = (terms: GrantedTerms, { from, until }: Life): ReadonlyArray<Grant | null> => {
  const { endsAt = null, startsAt = null } = terms.override ?? {}
  const changes = [startsAt, endsAt].flatMap((text) => {
    const at = text === null ? from : new Date(text)
    return at > from && at < until ? [at] : []
  })
  return [from, ...changes].map((at) => grantOf(terms, at))
}

const isBelow = (one: Limit, other: Limit): boolean => {
  if (isUnlimited(one.value)) return false
  return (
    isUnlimited(other.value) ||
    BigDecimal.isLessThan(capOf(one.value, one.overagePercent), capOf(other.value, other.overagePercent))
  )
}

/** The lowest limit; `null` if one of the grants allows nothing. */
const leastLimit = (grants: ReadonlyArray<Grant | null>): Limit | null => {
  const limits = grants.map(limitOf)
  return limits.reduce((least, limit) => {
    if (least === null || limit === null) return null
    return isBelow(limit, least) ? limit : least
  }, limits[0] ?? null)
}

/** The name of the periods of an entitlement. */
const periodName = (resetPeriod: ResetPeriod | null, resetAnchor: ResetAnchor | null): string =>
  resetPeriod === null ? "LIFETIME" : `${resetPeriod}/${resetAnchor ?? "CALENDAR"}`

const numberOver = (row: SnapshotRow, slug: string, grants: ReadonlyArray<Grant | null>, used: Used) => {
  const limit = leastLimit(grants)
  return limit === null
    ? null
    : ({
        slug,
        type: "NUMBER",
        limit: decimalText(limit.value),
        overagePercent: decimalText(BigDecimal.fromNumberUnsafe(limit.overagePercent)),
        aggregation: row.aggregationMethod ?? "SUM",
        used: decimalText(used.amount),
        usedFrom: used.from.toISOString(),
        period: periodName(row.resetPeriod, row.resetAnchor),
      } as const)
}

/** Configurations have no order, so one that changes is not granted: neither value would be safe. */
const configurationOver = (
  { configuration }: SnapshotRow,
  grants: ReadonlyArray<Grant | null>,
): Readonly<Record<string, unknown>> | null => {
  const texts = new Set(
    grants.map((grant) => JSON.stringify(grant === null ? null : configurationOf(grant, configuration))),
  )
  const [first] = grants
  return texts.size === 1 && first !== undefined && first !== null ? configurationOf(first, configuration) : null
}

/**
 * What is granted of an entitlement during the whole lifetime; `null` if nothing is. Seats (`CONCURRENT`) are never granted, because only
 * the service knows how many are in use.
 */
export const grantOver = (row: SnapshotRow, used: Used | null, life: Life): EntitlementSnapshot | null => {
  const grants = grantsDuring(row, life)
  const slug = row.entitlement
  if (row.type === "NUMBER") {
    return used === null || row.aggregationMethod === "CONCURRENT" ? null : numberOver(row, slug, grants, used)
  }
  if (row.type === "BOOLEAN") {
    return grants.every((grant) => typeof grant?.value === "boolean")
      ? { slug, type: "BOOLEAN", value: grants.every((grant) => grant?.value === true) }
      : null
  }
  const value = configurationOver(row, grants)
  return value === null ? null : { slug, type: "CONFIG", value }
}

const FIXED_SECONDS: Partial<Record<ResetPeriod, number>> = { HOUR: 3_600, DAY: 86_400, WEEK: 604_800 }

/** The starts of the periods that overlap a lifetime, and one more, so that readers need no calendar. */
export const periodStarts = (
  periods: { readonly resetPeriod: ResetPeriod | null; readonly resetAnchor: ResetAnchor | null },
  licenseStart: Date,
  { from, until }: Life,
): PeriodStarts => {
  const { resetAnchor, resetPeriod } = periods
  const at = (instant: Date) =>
    periodAt({ resetPeriod, resetAnchor: resetAnchor ?? "CALENDAR", licenseStart, at: instant })
  let period = at(from)
  const every = resetPeriod === null ? undefined : FIXED_SECONDS[resetPeriod]
  if (every !== undefined) return { from: period.start.toISOString(), every }
  const starts = [period.start.toISOString()]
  while (period.end !== null && period.start < until) {
    period = at(period.end)
    starts.push(period.start.toISOString())
  }
  return { starts }
}
