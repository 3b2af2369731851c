/** What a tranche pays without a request, and what a refill must request otherwise. */
import type { AnswerReason } from "./Answers.ts"
import { decimalOf, textOf, UNLIMITED } from "./values/Decimal.ts"
import type { Claims, Instant } from "./Model.ts"
import { requestedIn, termsAt } from "./Terms.ts"
import type { Check, Figures, LocalUsage } from "./Terms.ts"
import { isText, millisOrNow, own } from "./values/Unknown.ts"

/** An amount to write down, in the order of the checks. */
export interface Spend {
  readonly entitlement: string
  /** The start of its period. */
  readonly period: string
  readonly amount: string
}

/** All that the checks need of an entitlement whose tranche does not pay it. */
export interface Refill {
  readonly entitlement: string
  readonly period: string
  readonly need: string
}

/** All checks are paid, or none: then a refill can help, or they are denied. */
export type Cover =
  | { readonly spends: ReadonlyArray<Spend> }
  | { readonly refill: ReadonlyArray<Refill> }
  | { readonly denied: AnswerReason; readonly entitlement: string }

/** Seats, and what is measured in other ways, cannot be consumed. */
const isConsumable = ({ aggregation, period }: Figures): boolean =>
  (aggregation === "SUM" || aggregation === "COUNT") && period !== null

const ONE = decimalOf(1) as bigint

interface Item {
  readonly slug: string
  readonly fault: AnswerReason | undefined
  readonly figures: Figures | undefined
  /** A `COUNT` counts the use itself, regardless of its amount. */
  readonly amount: bigint
}

const itemAt = (claims: unknown, check: unknown, at: number, local: unknown): Item => {
  const slug = own(check, "entitlement")
  const requested = requestedIn(check)
  const { denial, figures } = termsAt(claims, slug, at, local)
  const isValid =
    isText(slug) &&
    requested !== undefined &&
    Number.isFinite(at) &&
    (figures === undefined || denial !== undefined || isConsumable(figures))
  return {
    slug: isText(slug) ? slug : "",
    fault: isValid ? denial : "INVALID_REQUEST",
    figures,
    amount: figures?.aggregation === "COUNT" ? ONE : (requested ?? 0n),
  }
}

/** What all items of each entitlement need, where its tranche does not pay it. */
const refillOf = (items: ReadonlyArray<Item>): ReadonlyArray<Refill> => {
  const needs = new Map<string, bigint>()
  for (const { amount, slug } of items) needs.set(slug, (needs.get(slug) ?? 0n) + amount)
  return Array.from(needs).flatMap(([entitlement, need]) => {
    const figures = items.find(({ slug }) => slug === entitlement)?.figures
    const isPaid = figures === undefined || figures.limit === UNLIMITED || need <= figures.unspent
    return isPaid ? [] : [{ entitlement, period: figures.period?.start ?? "", need: textOf(need) }]
  })
}

/**
 * Whether checks can be consumed without a request, by a snapshot that was just verified as `VALID` and what this
 * product spent. Write the spends down before you go on. Never throws.
 */
export const cover = (claims: Claims, checks: ReadonlyArray<Check>, at?: Instant, local?: LocalUsage | null): Cover => {
  const millis = millisOrNow(at)
  const items = Array.isArray(checks) ? checks.map((check) => itemAt(claims, check, millis, local)) : []
  const denied =
    items.find(({ fault }) => fault === "INVALID_REQUEST") ?? items.find(({ fault }) => fault !== undefined)
  if (denied?.fault !== undefined) return { denied: denied.fault, entitlement: denied.slug }
  const refill = refillOf(items)
  if (refill.length > 0) return { refill }
  return {
    spends: items.flatMap(({ amount, figures, slug }) =>
      figures === undefined || amount === 0n
        ? []
        : [{ entitlement: slug, period: figures.period?.start ?? "", amount: textOf(amount) }],
    ),
  }
}
