/**
 * What may be promised for a future period: never more than a check at any instant of it would allow, by what is known now. A site
 * without a network cannot be corrected later. Pure.
 */
import { BigDecimal } from "effect"
import { decimalText } from "../../../kernel/values/Decimal.ts"
import type { AggregationMethod, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import { capOf, isUnlimited } from "../rules/Cap.ts"
import type { Limit } from "../rules/Cap.ts"
import type { Grant } from "../rules/Decision.ts"
import { configurationOf, grantOf, grantsDuring } from "../rules/Grant.ts"
import type { DatedGrant } from "../rules/Grant.ts"
import { limitOf } from "../rules/Limits.ts"
import { periodAt } from "../rules/Period.ts"
import { creditOf } from "../rules/StoredCredit.ts"
import type { CheckedEntitlement } from "../rules/Terms.ts"
import { changesBeside, termsBeside } from "./CreditRules.ts"
import type { Taken } from "./CreditRules.ts"
import type { ConfigTerms, EntitlementSnapshot, EntitlementStanding, Life, NumberTerms, PeriodStarts } from "./Model.ts"

/** An entitlement as a snapshot reads it. */
export type SnapshotRow = CheckedEntitlement & { readonly aggregationMethod: AggregationMethod | null }

/** What is used of the limit of an entitlement, and reserved of it, in the present period. */
interface Used {
  readonly amount: BigDecimal.BigDecimal
  /** The part of it that is reserved. */
  readonly held: BigDecimal.BigDecimal
  readonly from: Date
}

/** The same, with the end of the period. */
export type UsedUntil = Used & Taken

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

/** Before everything, so that the grants of a snapshot do not change with the instant at which it is made. */
const ALWAYS = "1970-01-01T00:00:00.000Z"

/**
 * What is granted from which instant on, where it differs from the terms of the whole life: nothing where it never changes.
 */
const changesOf = <Terms extends object, G = Grant | null>(
  whole: Terms,
  grants: ReadonlyArray<{ readonly from: Date | null; readonly grant: G }>,
  termsOf: (grant: G) => Terms,
): { readonly grants?: ReadonlyArray<{ readonly from: string } & Terms> } => {
  if (grants.length === 1) return {}
  let last = JSON.stringify(whole)
  const changes = grants.flatMap(({ from, grant }) => {
    const terms = termsOf(grant)
    const text = JSON.stringify(terms)
    if (text === last) return []
    last = text
    return [{ from: from?.toISOString() ?? ALWAYS, ...terms }]
  })
  return changes.length === 0 ? {} : { grants: changes }
}

const numberTerms = (limit: Limit | null): NumberTerms =>
  limit === null
    ? { limit: null }
    : {
        limit: decimalText(limit.value),
        overagePercent: decimalText(BigDecimal.fromNumberUnsafe(limit.overagePercent)),
      }

/** Terms, from an instant on; the first ones of a life have none. */
interface DatedTerms {
  readonly from: Date | null
  readonly grant: NumberTerms
}

const numberOver = (
  row: SnapshotRow,
  used: Used,
  whole: NumberTerms,
  dated: ReadonlyArray<DatedTerms>,
): EntitlementStanding => {
  return {
    slug: row.entitlement,
    type: "NUMBER",
    ...whole,
    ...changesOf(whole, dated, (terms) => terms),
    aggregation: row.aggregationMethod ?? "SUM",
    used: decimalText(used.amount),
    ...(BigDecimal.isZero(used.held) ? {} : { held: decimalText(used.held) }),
    usedFrom: used.from.toISOString(),
    period: periodName(row.resetPeriod, row.resetAnchor),
  }
}

/** The terms of a `NUMBER` during a life, without credits. */
const plainTerms = (
  grants: ReadonlyArray<DatedGrant>,
): readonly [whole: NumberTerms, dated: ReadonlyArray<DatedTerms>] => [
  numberTerms(leastLimit(grants.map(({ grant }) => grant))),
  grants.map(({ from, grant }) => ({ from, grant: numberTerms(limitOf(grant)) })),
]

const booleanOver = (slug: string, grants: ReadonlyArray<DatedGrant>): EntitlementStanding => {
  const termsOf = (grant: Grant | null) => ({ value: grant?.value === true })
  const terms = { value: grants.every(({ grant }) => termsOf(grant).value) }
  return { slug, type: "BOOLEAN", ...terms, ...changesOf(terms, grants, termsOf) }
}

/** Configurations have no order, so one that changes is not granted: neither value would be safe. */
const configurationOver = (
  { configuration, entitlement: slug }: SnapshotRow,
  grants: ReadonlyArray<DatedGrant>,
): EntitlementStanding => {
  const termsOf = (grant: Grant | null): ConfigTerms => ({
    value: grant === null ? null : configurationOf(grant, configuration),
  })
  const [first, ...others] = grants.map(({ grant }) => termsOf(grant))
  const text = JSON.stringify(first)
  const isConstant = first !== undefined && others.every((terms) => JSON.stringify(terms) === text)
  const terms = isConstant ? first : { value: null }
  return { slug, type: "CONFIG", ...terms, ...changesOf(terms, grants, termsOf) }
}

/**
 * The standing with an entitlement during the whole lifetime, whether or not it is granted. `null` for a `NUMBER` without usage.
 */
export const standingOver = (row: SnapshotRow, used: Used | null, life: Life): EntitlementStanding | null => {
  const grants = grantsDuring(row, life)
  if (row.type === "NUMBER") return used === null ? null : numberOver(row, used, ...plainTerms(grants))
  return row.type === "BOOLEAN" ? booleanOver(row.entitlement, grants) : configurationOver(row, grants)
}

/**
 * The same for a product that asks again when something changes: what credits have left is a part of the limit while they pay. Bundles do
 * not contain it, because nothing sets credits aside for their site.
 */
export const standingWithCredits = (
  row: SnapshotRow,
  used: UsedUntil | null,
  life: Life,
): EntitlementStanding | null => {
  const credits = (row.credits ?? []).map(creditOf)
  if (row.type !== "NUMBER" || used === null || credits.length === 0) return standingOver(row, used, life)
  const grants = grantsDuring(row, life)
  const changes = new Set([
    ...grants.flatMap(({ from }) => (from === null ? [] : [from.getTime()])),
    ...changesBeside(credits, used),
  ])
  const termsAt = (at: Date): NumberTerms => termsBeside(limitOf(grantOf(row, at)), credits, used, at)
  const first = termsAt(life.from)
  const later = [...changes]
    .filter((at) => at > life.from.getTime() && at < life.until.getTime())
    .toSorted((one, other) => one - other)
    .map((at) => ({ from: new Date(at), grant: termsAt(new Date(at)) }))
  const [whole] = later.length === 0 ? [first] : plainTerms(grants)
  return numberOver(row, used, whole, [{ from: null, grant: first }, ...later])
}

/** Whether an entitlement has no grant at any instant of the life. */
export const isNeverGranted = (standing: EntitlementStanding): boolean => {
  if (standing.grants !== undefined) return false
  return standing.type === "NUMBER" ? standing.limit === null : standing.value === null || standing.value === false
}

const isPromised = (standing: EntitlementStanding): standing is EntitlementSnapshot =>
  standing.type === "NUMBER" ? standing.limit !== null : standing.value !== null

/**
 * What is granted of an entitlement during the whole lifetime; `null` if nothing is. Seats (`CONCURRENT`) are never granted, because only
 * the service knows how many are in use.
 */
export const grantOver = (row: SnapshotRow, used: Used | null, life: Life): EntitlementSnapshot | null => {
  if (row.aggregationMethod === "CONCURRENT") return null
  // A `BOOLEAN` that is not granted is no entry, unlike one that is granted as `false`.
  if (row.type === "BOOLEAN" && grantsDuring(row, life).some(({ grant }) => typeof grant?.value !== "boolean"))
    return null
  const standing = standingOver(row, used, life)
  return standing !== null && isPromised(standing) ? standing : null
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
