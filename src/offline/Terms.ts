/** What the claims of a snapshot, and what this product spent, say of one entitlement at an instant. */
import { decimalOf, printed, textOf } from "./values/Decimal.ts"
import type { Amounts, Period } from "./Model.ts"
import { periodAt } from "./Periods.ts"
import { remembered } from "./values/Remembered.ts"
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
  /** The amounts that are given back: no one holds them, although the snapshot says so until the service has answered. */
  readonly returned?: Amounts | undefined
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
  readonly part: LocalPart
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

const requestedInText = remembered((text) => {
  const amount = decimalOf(text)
  if (amount === undefined || amount < 0n) return undefined
  return textOf(amount).replace(/^0/, "").replace(".", "").length <= MAX_DIGITS ? amount : undefined
})

/** The requested amount, `undefined` if the service would reject it. */
export const requestedIn = (check: unknown): bigint | undefined =>
  requestedInText(printed(own(check, "requested") ?? 1))

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

/** What this product spent and reserved of an entitlement in a period, and the tranche that pays it. */
interface LocalPart {
  readonly tranche: unknown
  readonly spent: bigint
  readonly reserved: bigint
  readonly returned: bigint
}

const NO_PART: LocalPart = { tranche: undefined, spent: 0n, reserved: 0n, returned: 0n }

const partOf = (claims: unknown, slug: string, start: unknown, local: unknown): LocalPart =>
  local === undefined || local === null
    ? NO_PART
    : {
        tranche: trancheOf(claims, local),
        spent: amountIn(own(local, "spent"), slug, start),
        reserved: amountIn(own(local, "reserved"), slug, start),
        returned: amountIn(own(local, "returned"), slug, start),
      }

const LIFETIME = "LIFETIME"

/** The usage period at an instant. A lifetime begins with the license, and is its period before that too. */
const usagePeriodAt = (claims: unknown, name: unknown, at: number): Period | null => {
  const instant = name === LIFETIME ? Math.max(at, millisOf(own(own(claims, "license"), "start"))) : at
  return periodAt(claims as never, String(name), new Date(instant))
}

const figuresAt = (
  claims: unknown,
  slug: string,
  entitlement: unknown,
  at: number,
  local: unknown,
): Figures | undefined => {
  const period = usagePeriodAt(claims, own(entitlement, "period"), at)
  const start = period?.start
  // Usage and holds of another period are none of this one. In doubt they count.
  const usedFrom = own(entitlement, "usedFrom")
  const isOther = start !== usedFrom && Math.abs(millisOf(start) - millisOf(usedFrom)) > 0
  const used = isOther ? 0n : decimalOf(own(entitlement, "used"))
  if (used === undefined) return undefined
  const held = isOther ? 0n : (decimalOf(own(entitlement, "held")) ?? 0n)
  const aggregation = own(entitlement, "aggregation")
  const isSpent = aggregation === "SUM" || aggregation === "COUNT"
  const part = partOf(claims, slug, start, local)
  const { reserved, returned, spent, tranche } = isSpent ? part : NO_PART
  const mine = amountIn(own(tranche, "of"), slug, start)
  const isOpen = at < Number(own(tranche, "until")) * 1000
  const unspent = isOpen ? atLeastZero(mine - spent - reserved - returned) : 0n
  const grant = grantAt(entitlement, at)
  return {
    aggregation,
    limit: decimalOf(own(grant, "limit")),
    overagePercent: decimalOf(own(grant, "overagePercent")) ?? 0n,
    usage: used - held + spent,
    // What this product spent of its own hold is usage. Only this product can spend the rest of it.
    others: atLeastZero(atLeastZero(held - least(mine, spent)) - unspent - returned),
    unspent,
    period,
    part,
  }
}

/** The object that a `CONFIG` grants at an instant; `null` of other types, and where nothing is granted. */
export const configurationAt = (entitlement: unknown, at: number): Readonly<Record<string, unknown>> | null => {
  const value = own(grantAt(entitlement, at), "value")
  return own(entitlement, "type") === "CONFIG" && isRecord(value) ? value : null
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

/** The terms of an entitlement, and the instants for which they are the same: from `from`, before `to`. */
interface Dated {
  readonly from: number
  readonly to: number
  readonly terms: Terms
}

/** Claims do not change while they answer: what was read of them stays right. */
interface Read {
  /** The first entry of each slug. */
  readonly entries: ReadonlyMap<unknown, unknown>
  readonly last: Map<string, Dated>
}

const reads = new WeakMap<object, Read>()

const readOf = (claims: object): Read => {
  const known = reads.get(claims)
  if (known !== undefined) return known
  const entitlements = own(claims, "entitlements")
  const list: ReadonlyArray<unknown> = Array.isArray(entitlements) ? entitlements.toReversed() : []
  const read = { entries: new Map(list.map((one) => [own(one, "slug"), one])), last: new Map<string, Dated>() }
  reads.set(claims, read)
  return read
}

/** The terms until the next instant at which one of them begins or ends. */
const datedAt = (terms: Terms, claims: unknown, entitlement: unknown, at: number): Dated => {
  const [license, grants] = [own(claims, "license"), own(entitlement, "grants")]
  const begins = Array.isArray(grants) ? grants.map((grant: unknown) => millisOf(own(grant, "from"))) : []
  const until = Number(own(own(claims, "tranche"), "until")) * 1000
  const period = terms.figures?.period
  let from = period ? millisOf(period.start) : -Infinity
  let to = period?.end ? millisOf(period.end) : Infinity
  for (const instant of [millisOf(own(license, "start")), millisOf(own(license, "end")), until, ...begins]) {
    if (instant <= at) from = Math.max(from, instant)
    if (instant > at) to = Math.min(to, instant)
  }
  return { from, to, terms }
}

/** Whether terms are right for what this product spent since they were read. */
const isOfPart = ({ figures }: Terms, claims: unknown, slug: string, local: unknown): boolean => {
  if (figures === undefined) return true
  const { reserved, returned, spent, tranche } = figures.part
  const part = partOf(claims, slug, figures.period?.start, local)
  const isOwn = part.spent === spent && part.reserved === reserved && part.returned === returned
  return isOwn && part.tranche === tranche
}

/** What is known of an entitlement at an instant, in milliseconds: the same objects, as long as nothing changes. */
export const termsAt = (claims: unknown, slug: unknown, at: number, local: unknown): Terms => {
  const read = isRecord(claims) ? readOf(claims) : undefined
  const entitlement = isText(slug) ? read?.entries.get(slug) : undefined
  if (read === undefined || !isText(slug) || entitlement === undefined) {
    return { denial: own(claims, "complete") === true ? "ENTITLEMENT_NOT_FOUND" : "NOT_GRANTED", figures: undefined }
  }
  const last = read.last.get(slug)
  if (last !== undefined && at >= last.from && at < last.to && isOfPart(last.terms, claims, slug, local)) {
    return last.terms
  }
  const type = own(entitlement, "type")
  const isNumber = type === "NUMBER"
  const figures = isNumber ? figuresAt(claims, slug, entitlement, at, local) : undefined
  const granted = isNumber ? figures?.limit !== undefined : isGranted(type, entitlement, at)
  const terms = { denial: denialAt(claims, granted, at), figures }
  // Without its period it is not known for how long this is right.
  if (!isNumber || figures?.period) read.last.set(slug, datedAt(terms, claims, entitlement, at))
  return terms
}
