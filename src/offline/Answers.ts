/** Answers checks by the claims of a snapshot, as the service answers them by its database. */
import { capOf, decimalOf, textOf, UNLIMITED } from "./values/Decimal.ts"
import type { Claims, Instant } from "./Model.ts"
import { atLeastZero, requestedIn, termsAt } from "./Terms.ts"
import type { Check, Denial, Figures, LocalUsage } from "./Terms.ts"
import { isText, millisOf, millisOrNow, own } from "./values/Unknown.ts"

export type AnswerReason =
  | "GRANTED"
  | "UNLIMITED"
  | "SOFT_LIMIT"
  | "IN_GRACE"
  | "LIMIT_REACHED"
  | Denial
  /** An amount is negative, no decimal, or has more than 18 digits; or the instant is invalid. */
  | "INVALID_REQUEST"

/** The answer to one check. Amounts are decimal texts, `null` where nothing is counted. */
export interface CheckAnswer {
  readonly entitlement: string
  readonly allowed: boolean
  readonly reason: AnswerReason
  /** `"-1"` is unlimited. */
  readonly limit: string | null
  readonly usage: string | null
  /** What is left before the request, at least `"0"`; `"-1"` if unlimited. */
  readonly remaining: string | null
  readonly overage: string | null
  readonly currentPeriodStart: string | null
  readonly currentPeriodEnd: string | null
}

/** The answers to checks, in their order. */
export interface Answers {
  readonly instance: string
  readonly license: string
  /** `null` if the instant is invalid. */
  readonly at: string | null
  /** When access ends, if the license is in its grace period. */
  readonly graceEndsAt: string | null
  readonly checks: ReadonlyArray<CheckAnswer>
}

const isAllowed = (reason: AnswerReason): boolean =>
  reason === "GRANTED" || reason === "UNLIMITED" || reason === "SOFT_LIMIT"

const reasonForAmount = (
  { limit, others, overagePercent, unspent, usage }: Figures,
  requested: bigint,
): AnswerReason => {
  if (limit === undefined) return "NOT_GRANTED"
  if (limit === UNLIMITED) return "UNLIMITED"
  const after = usage + others + requested
  if (after <= limit) return "GRANTED"
  if (after <= capOf(limit, overagePercent)) return "SOFT_LIMIT"
  // A tranche is a guarantee: what it pays is allowed, even if the limit is lower now.
  if (unspent > 0n && requested <= unspent) return overagePercent > 0n ? "SOFT_LIMIT" : "GRANTED"
  return "LIMIT_REACHED"
}

const NO_FIGURES = { limit: null, usage: null, remaining: null, overage: null }

type FigureTexts = Pick<CheckAnswer, "limit" | "usage" | "remaining" | "overage">

const textsOf = ({ limit, others, usage }: Figures): FigureTexts => {
  const used = textOf(usage)
  if (limit === undefined) return { ...NO_FIGURES, usage: used }
  if (limit === UNLIMITED) return { limit: "-1", usage: used, remaining: "-1", overage: "0" }
  return {
    limit: textOf(limit),
    usage: used,
    remaining: textOf(atLeastZero(limit - usage - others)),
    overage: textOf(atLeastZero(usage - limit)),
  }
}

const writtenTexts = new WeakMap<Figures, FigureTexts>()

/** Figures are the same object until they change. To write an amount costs more than all else of an answer. */
const figureTexts = (figures: Figures): FigureTexts => {
  const texts = writtenTexts.get(figures) ?? textsOf(figures)
  writtenTexts.set(figures, texts)
  return texts
}

const ONE = decimalOf(1) as bigint

/** What the checks of a consumption use of each entitlement, as far as they are allowed. */
type Uses = Map<unknown, bigint>

const answerOne = (
  claims: Claims,
  check: unknown,
  at: number,
  isInGrace: boolean,
  local: unknown,
  uses: Uses | undefined,
): CheckAnswer => {
  const slug = own(check, "entitlement")
  const requested = requestedIn(check)
  const { denial, figures } = termsAt(claims, slug, at, local)
  const isValid = requested !== undefined && isText(slug) && Number.isFinite(at)
  // A `COUNT` counts the use itself, whatever amount it has.
  const amount = uses !== undefined && figures?.aggregation === "COUNT" ? ONE : (requested ?? 0n)
  const used = (uses?.get(slug) ?? 0n) + amount
  const reason = isValid
    ? (denial ?? (figures === undefined ? "GRANTED" : reasonForAmount(figures, used)))
    : "INVALID_REQUEST"
  const allowed = isAllowed(reason)
  if (allowed) uses?.set(slug, used)
  const { limit, overage, remaining, usage } = figures === undefined ? NO_FIGURES : figureTexts(figures)
  return {
    entitlement: isText(slug) ? slug : "",
    allowed,
    reason: allowed && isInGrace ? "IN_GRACE" : reason,
    limit,
    usage,
    remaining,
    overage,
    currentPeriodStart: figures?.period?.start ?? null,
    currentPeriodEnd: figures?.period?.end ?? null,
  }
}

const textAt = (millis: number): string | null => (Number.isFinite(millis) ? new Date(millis).toISOString() : null)

const textIn = (record: unknown, name: string): string => {
  const text = own(record, name)
  return isText(text) ? text : ""
}

const answersTo = (
  claims: Claims,
  checks: ReadonlyArray<Check>,
  at: Instant | undefined,
  local: LocalUsage | null | undefined,
  uses: Uses | undefined,
): Answers => {
  const millis = millisOrNow(at)
  const license = own(claims, "license")
  const [termEnd, end] = [own(license, "termEnd"), own(license, "end")].map(millisOf) as [number, number]
  const isInGrace = millis >= termEnd && millis < end
  return {
    instance: textIn(own(claims, "instance"), "slug"),
    license: textIn(license, "slug"),
    at: textAt(millis),
    graceEndsAt: isInGrace ? textAt(end) : null,
    checks: Array.isArray(checks)
      ? checks.map((check) => answerOne(claims, check, millis, isInGrace, local, uses))
      : [],
  }
}

/**
 * Answers checks without a request, by a snapshot or bundle that was just verified as `VALID`. `at` is the clock of the
 * machine by default. Never throws: what cannot be read is not allowed.
 */
export const answer = (
  claims: Claims,
  checks: ReadonlyArray<Check>,
  at?: Instant,
  local?: LocalUsage | null,
): Answers => answersTo(claims, checks, at, local, undefined)

/** Answers the checks of a consumption, each after what the allowed ones before it use. The figures are those before all of them. */
export const answerInOrder: typeof answer = (claims, checks, at, local) =>
  answersTo(claims, checks, at, local, new Map())
