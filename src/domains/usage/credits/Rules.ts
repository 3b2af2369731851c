/** Rules of credits as records: what can be created, what is repeated, and how a stored one is shown. Pure. */
import { BigDecimal } from "effect"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import {
  amountOf,
  decimalOfAmount,
  decimalOrZero,
  isStorable,
  isWhole,
  storedDecimal,
} from "../../../kernel/values/Decimal.ts"
import { isBefore, isSameInstant } from "../../../kernel/values/Timestamp.ts"
import type { Entitlement } from "../../entitlements/Model.ts"
import { RETENTION_MS } from "../ledger/Acceptance.ts"
import { creditState, remainingOf } from "../rules/Burn.ts"
import type { CreateCredit, Credit, CreditRow } from "./Model.ts"

/** How many credits of a holder and an entitlement are neither used up, voided nor expired. A check reads all of them. */
export const MAX_OPEN = 100

/** What is wrong with a body for an entitlement at an instant. */
export const creationErrors = (
  { amount, expiresAt = null, startsAt }: CreateCredit,
  { aggregationMethod, slug, type }: Pick<Entitlement, "aggregationMethod" | "slug" | "type">,
  at: Date,
): ReadonlyArray<ValidationError> => {
  const method = type === "NUMBER" ? (aggregationMethod ?? "SUM") : null
  if (method !== "SUM" && method !== "COUNT") {
    return [{ location: "path.entitlementSlug", message: "must be a NUMBER that is a SUM or a COUNT", value: slug }]
  }
  const decimal = decimalOfAmount(amount)
  const errors: Array<ValidationError> = []
  const add = (location: string, message: string, value: unknown) => errors.push({ location, message, value })
  if (!isStorable(decimal)) add("body.amount", "must have at most 18 digits", amount)
  else if (method === "COUNT" && !isWhole(decimal)) {
    add("body.amount", "must be whole, because a COUNT counts single events", amount)
  }
  if (startsAt !== undefined && startsAt.getTime() < at.getTime() - RETENTION_MS) {
    add("body.startsAt", "must not be more than 35 days ago", startsAt)
  }
  if (expiresAt !== null && !isBefore(startsAt ?? at, expiresAt)) {
    add(
      "body.expiresAt",
      startsAt === undefined ? "must be in the future, or after startsAt" : "must be after startsAt",
      expiresAt,
    )
  }
  return errors
}

/** Whether everything that a body states equals a stored credit. */
export const isRepeated = (
  body: CreateCredit,
  stored: CreditRow,
  { entitlementId, instanceId }: Pick<CreditRow, "entitlementId" | "instanceId">,
): boolean =>
  stored.instanceId === instanceId &&
  stored.entitlementId === entitlementId &&
  BigDecimal.equals(decimalOfAmount(body.amount), storedDecimal(stored.amount)) &&
  (body.priority === undefined || body.priority === stored.priority) &&
  (body.startsAt === undefined || isSameInstant(body.startsAt, stored.startsAt)) &&
  (body.expiresAt === undefined || isSameInstant(body.expiresAt, stored.expiresAt)) &&
  (body.reason === undefined || body.reason === stored.reason)

/** The record of a stored credit at an instant. */
export const recordOf = (
  { entitlementId: _entitlementId, instanceId: _instanceId, ...row }: CreditRow,
  at: Date,
): Credit => {
  const credit = {
    ...row,
    amount: storedDecimal(row.amount),
    used: storedDecimal(row.used),
    reserved: decimalOrZero(row.reserved),
  }
  return {
    ...row,
    amount: amountOf(credit.amount),
    used: amountOf(credit.used),
    reserved: amountOf(credit.reserved),
    remaining: amountOf(remainingOf(credit, at)),
    state: creditState(credit, at),
  }
}

/** The data of an event about a credit: the record, with its owner. */
export const eventDataOf = (row: CreditRow, at: Date) => ({ ...recordOf(row, at), instanceId: row.instanceId })

/** Whether something was left of a credit that was not voided. */
export const isUnused = ({ amount, used, voidedAt }: CreditRow): boolean =>
  voidedAt === null && BigDecimal.isLessThan(storedDecimal(used), storedDecimal(amount))

/** The data of the event that a credit has expired. */
export const expiryDataOf = (row: CreditRow, at: Date) => ({
  ...eventDataOf(row, at),
  unused: amountOf(BigDecimal.subtract(storedDecimal(row.amount), storedDecimal(row.used))),
})
