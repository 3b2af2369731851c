/** Revocation lists: which bundles are void. */
import { Schema } from "effect"

/** The `typ` of the header. */
export const LIST_TYPE = "keyshelf-revocations+jwt"

/** The highest void sequence of an instance. */
export const Revocation = Schema.Struct({
  instanceId: Schema.String,
  sequence: Schema.Int,
  revokedAt: Schema.Date,
})
export type Revocation = typeof Revocation.Type
