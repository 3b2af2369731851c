/** What the claims of a snapshot, and what this product spent, say of one entitlement at an instant. */
import { decimalOf, textOf } from "./values/Decimal.ts"
import type { Amounts, Period } from "./Model.ts"
import { periodAt } from "./Periods.ts"
import { isRecord, isText, millisOf, own } from "./values/Unknown.ts"

/** How much of what is requested. */
export interface Check {
  /** Slug of the entitlement. */
  readonly entitlement: string
  /** A decimal. `"0"` asks whether usage is within the limit. Default: `"1"`. */
  readonly requested?: string | number | bigint | undefined
}

/** What this product spent and did not settle yet. Without a ledger, leave it out. */
export interface LocalUsage {
  /** The ledger: `urn:keyshelf:ledger:<id>`. */
  readonly source: string
  /** Positions that the ledger had, `[lines, head]`. A tranche of another position pays nothing. */
  readonly positions: ReadonlyArray<readonly [lines: number, head: string]>
  /** What was spent since the position of the tranche. */
  readonly spent: Amounts
  /** The amounts that are reserved for work in flight. */
  readonly reserved?: Amounts | undefined
}

/** The figures of a `NUMBER`, in the smallest unit. */
export interface Figures {
  readonly aggregation: unknown
  /** `undefined`: not granted. */
  readonly limit: bigint | undefined
  /** How far usage may exceed the limit, in percent of it. */
  readonly overagePercent: bigint
  readonly usage: bigint
  /** What others hold of the period. */
  readonly others: bigint
  /** What the tranche still pays. */
  readonly unspent: bigint
  readonly period: Period | null
}

/** Why nothing is allowed, whatever is requested. */
export type Denial = "ENTITLEMENT_NOT_FOUND" | "LICENSE_NOT_STARTED" | "LICENSE_EXPIRED" | "NOT_GRANTED"

interface Terms {
  readonly denial: Denial | undefined
  /** `undefined` if the entitlement is not a `NUMBER`, or its usage cannot be read. */
  readonly figures: Figures | undefined
}

/** Amounts that the service can count have at most 18 digits, before and after their point together. */
const MAX_DIGITS = 18

/** The requested amount, `undefined` if the service would reject it. */
export const requestedIn = (check: unknown): bigint | undefined => {
  const amount = decimalOf(own(check, "requested") ?? 1)
  if (amount === undefined || amount < 0n) return undefined
  return textOf(amount).replace(/^0/, "").replace(".", "").length <= MAX_DIGITS ? amount : undefined
}

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)

export const atLeastZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n)

const amountIn = (amounts: unknown, entitlement: string, start: unknown): bigint =>
  atLeastZero(decimalOf(own(own(amounts, entitlement), start)) ?? 0n)

/** The tranche of the claims, if this ledger was at its position. */
const trancheOf = (claims: unknown, local: unknown): unknown => {
  const [tranche, positions] = [own(claims, "tranche"), own(local, "positions")]
  const [source, lines, head] = ["source", "lines", "head"].map((name) => own(tranche, name))
  const isHere =
    isText(source) &&
    own(local, "source") === source &&
    Array.isArray(positions) &&
    positions.some((position) => Array.isArray(position) && position[0] === lines && position[1] === head)
  return isHere ? tranche : undefined
}

/** The last grant that has begun, else the entry itself. */
const grantAt = (entitlement: unknown, at: number): unknown => {
  const grants = own(entitlement, "grants")
  const begun: unknown = Array.isArray(grants)
    ? grants.findLast((grant: unknown) => millisOf(own(grant, "from")) <= at)
    : undefined
  return begun ?? entitlement
}

const figuresAt = (claims: unknown, slug: string, entitlement: unknown, at: number, local: unknown) => {
  const period = periodAt(claims as never, String(own(entitlement, "period")), new Date(at))
  const start = period?.start
  // Usage and holds of another period are none of this one. In doubt they count.
  const isOther = Math.abs(millisOf(start) - millisOf(own(entitlement, "usedFrom"))) > 0
  const used = isOther ? 0n : decimalOf(own(entitlement, "used"))
  if (used === undefined) return undefined
  const held = isOther ? 0n : (decimalOf(own(entitlement, "held")) ?? 0n)
  const aggregation = own(entitlement, "aggregation")
  const isSpent = aggregation === "SUM" || aggregation === "COUNT"
  const sum = (amounts: unknown): bigint => (isSpent ? amountIn(amounts, slug, start) : 0n)
  const tranche = trancheOf(claims, local)
  const [spent, mine] = [sum(own(local, "spent")), sum(own(tranche, "of"))]
  const isOpen = at < Number(own(tranche, "until")) * 1000
  const unspent = isOpen ? atLeastZero(mine - spent - sum(own(local, "reserved"))) : 0n
  const grant = grantAt(entitlement, at)
  return {
    aggregation,
    limit: decimalOf(own(grant, "limit")),
    overagePercent: decimalOf(own(grant, "overagePercent")) ?? 0n,
    usage: used - held + spent,
    // What this product spent of its own hold is usage. Only this product can spend the rest of it.
    others: atLeastZero(atLeastZero(held - least(mine, spent)) - unspent),
    unspent,
    period,
  }
}

const isGranted = (type: unknown, entitlement: unknown, at: number): boolean => {
  const value = own(grantAt(entitlement, at), "value")
  return type === "BOOLEAN" ? value === true : type === "CONFIG" && isRecord(value)
}

const denialAt = (claims: unknown, granted: boolean, at: number): Denial | undefined => {
  const [start, end] = ["start", "end"].map((name) => own(own(claims, "license"), name))
  // Compared so that an invalid time allows nothing.
  if (!(at >= millisOf(start))) return "LICENSE_NOT_STARTED"
  if (end !== null && !(at < millisOf(end))) return "LICENSE_EXPIRED"
  return granted ? undefined : "NOT_GRANTED"
}

/** What is known of an entitlement at an instant, in milliseconds. */
export const termsAt = (claims: unknown, slug: unknown, at: number, local: unknown): Terms => {
  const entitlements = own(claims, "entitlements")
  const entitlement: unknown = Array.isArray(entitlements)
    ? entitlements.find((one) => isText(slug) && own(one, "slug") === slug)
    : undefined
  if (entitlement === undefined) {
    return { denial: own(claims, "complete") === true ? "ENTITLEMENT_NOT_FOUND" : "NOT_GRANTED", figures: undefined }
  }
  const type = own(entitlement, "type")
  const figures = type === "NUMBER" ? figuresAt(claims, slug as string, entitlement, at, local) : undefined
  const granted = type === "NUMBER" ? figures?.limit !== undefined : isGranted(type, entitlement, at)
  return { denial: denialAt(claims, granted, at), figures }
}
