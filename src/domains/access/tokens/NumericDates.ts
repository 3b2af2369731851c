/** Checks the times in the claims of a JWT. Pure. */
import type { JWTPayload } from "jose"

/** The last second that a date can hold (ECMAScript, section 21.4.1.1). */
const MAX_SECONDS = 8_640_000_000_000

const isTime = (claim: unknown): boolean =>
  claim === undefined || (typeof claim === "number" && claim >= 0 && claim <= MAX_SECONDS)

/**
 * Whether `exp`, `nbf` and `iat` are times, as far as they are present. JSON parsers turn `1e400` into Infinity, which is a
 * number but not a time: a token with this `exp` would never expire. Fractions of a second are allowed (RFC 7519, section 2).
 */
export const areTimesValid = ({ exp, iat, nbf }: JWTPayload): boolean => isTime(exp) && isTime(iat) && isTime(nbf)
