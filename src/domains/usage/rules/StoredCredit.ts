/** Credits as they are stored, for decisions. Pure. */
import { Schema } from "effect"
import { decimalOrZero, storedDecimal } from "../../../kernel/values/Decimal.ts"
import type { Credit } from "./Burn.ts"

/** A credit as a statement reads it. All JSON: amounts are decimal texts, so that they keep all digits, and instants are ISO 8601 texts. */
export const StoredCredit = Schema.Struct({
  id: Schema.String,
  amount: Schema.String,
  priority: Schema.Int,
  startsAt: Schema.String,
  expiresAt: Schema.NullOr(Schema.String),
  createdAt: Schema.String,
  voidedAt: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  used: Schema.String,
  /** What reservations have set aside; `null` if nothing. */
  reserved: Schema.NullOr(Schema.String),
})
export type StoredCredit = typeof StoredCredit.Type

const dateOrNull = (text: string | null): Date | null => (text === null ? null : new Date(text))

/** A credit from its stored form. */
export const creditOf = (stored: StoredCredit): Credit => ({
  id: stored.id,
  amount: storedDecimal(stored.amount),
  priority: stored.priority,
  startsAt: new Date(stored.startsAt),
  expiresAt: dateOrNull(stored.expiresAt),
  createdAt: new Date(stored.createdAt),
  voidedAt: dateOrNull(stored.voidedAt),
  reason: stored.reason,
  used: storedDecimal(stored.used),
  reserved: decimalOrZero(stored.reserved),
})
