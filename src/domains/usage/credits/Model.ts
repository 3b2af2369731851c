/** Credits: amounts that an instance can use once, after its limit. */
import { Schema } from "effect"

/** A credit as decisions read it. All JSON: amounts are decimal texts, so that they keep all digits, and instants are ISO 8601 texts. */
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
