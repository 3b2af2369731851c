/** Credits from what the database stores of them. Pure. */
import { decimalOrZero, storedDecimal } from "../../../kernel/values/Decimal.ts"
import type { Credit } from "../rules/Burn.ts"
import type { StoredCredit } from "./Model.ts"

/** A credit as `rules/Burn.ts` decides on it, with its reason, which explanations show. */
export interface ReadCredit extends Credit {
  readonly reason: string | null
}

const dateOrNull = (text: string | null): Date | null => (text === null ? null : new Date(text))

/** A credit from its stored form. */
export const creditOf = (stored: StoredCredit): ReadCredit => ({
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
