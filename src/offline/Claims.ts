/** Whether the claims of a token are complete. Unknown properties are ignored. */
import { check } from "./tokens/Faults.ts"
import { isKey } from "./tokens/Keys.ts"
import type { Claims, RevocationClaims } from "./Model.ts"
import { isCount, isInstant, isRecord, isText } from "./values/Unknown.ts"

type Is = (value: unknown) => boolean

/** Objects with these properties at least. */
const shape =
  (properties: Readonly<Record<string, Is>>): Is =>
  (value) =>
    isRecord(value) && Object.entries(properties).every(([name, is]) => is(value[name]))

const listOf =
  (is: Is): Is =>
  (value) =>
    Array.isArray(value) && value.every(is)

const nullOr =
  (is: Is): Is =>
  (value) =>
    value === null || is(value)

const isPositive: Is = (value) => isCount(value) && value > 0

const isNamed = shape({ slug: isText, name: isText })

const isBundle = shape({
  iss: isText,
  sub: isText,
  jti: isText,
  seq: isPositive,
  iat: isCount,
  nbf: isCount,
  renew: isCount,
  exp: isCount,
  instance: isNamed,
  customer: isNamed,
  license: shape({
    slug: isText,
    family: isText,
    version: isText,
    name: isText,
    type: isText,
    start: isInstant,
    end: nullOr(isInstant),
  }),
  entitlements: listOf(shape({ slug: isText, type: isText })),
  periods: isRecord,
  flags: isRecord,
  zone: nullOr(isRecord),
  release: nullOr(isRecord),
  binding: nullOr(shape({ match: isPositive, of: listOf(isText) })),
  usage: shape({ until: isCount }),
  next: (value) => value === undefined || value === null || isKey(value),
})

const isRevocationList = shape({
  iss: isText,
  number: isCount,
  iat: isCount,
  exp: isCount,
  revoked: listOf(shape({ sub: isText, seq: isCount })),
})

/** The claims of a bundle. Ends with `MALFORMED` if one is missing or of another type. */
export const bundleOf = (value: unknown): Claims => {
  check(isBundle(value))
  const claims = value as Claims
  check(claims.iat <= claims.renew && claims.renew <= claims.exp)
  return claims
}

/** The claims of a revocation list. Ends with `MALFORMED` if one is missing or of another type. */
export const revocationsOf = (value: unknown): RevocationClaims => {
  check(isRevocationList(value))
  return value as RevocationClaims
}
