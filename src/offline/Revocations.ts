/** Verifies revocation lists. */
import { revocationsOf } from "./Claims.ts"
import { check, statusOf } from "./tokens/Faults.ts"
import { makeKeyring } from "./tokens/Keys.ts"
import type { Keyring } from "./tokens/Keys.ts"
import type { RevocationAnswer, RevocationClaims, RevocationOptions } from "./Model.ts"
import { open } from "./tokens/Token.ts"
import { millisOrNow, own } from "./values/Unknown.ts"

// An organization can have many revoked instances, so a list may be larger than a bundle.
const MAX_LENGTH = 1 << 24

/** Opens a list of an issuer by a keyring. Throws faults. */
export const openList = async (text: unknown, keyring: Keyring, issuer: unknown): Promise<RevocationClaims> => {
  const list = revocationsOf((await open(text, "keyshelf-revocations+jwt", MAX_LENGTH, keyring)).claims)
  check(list.iss === issuer, "WRONG_ISSUER")
  return list
}

/** Verifies a revocation list by itself, such as one that a product has just received. Never rejects. */
export const verifyRevocations = async (text: string, options: RevocationOptions): Promise<RevocationAnswer> => {
  try {
    const { issuer, keys, now, state } = options
    const list = await openList(text, makeKeyring(keys, own(state, "keys")), issuer)
    check(!(list.number < Number(own(state, "revocations"))), "SUPERSEDED")
    return { status: "VALID", stale: !(millisOrNow(now) < list.exp * 1000), claims: list }
  } catch (thrown) {
    return { status: statusOf(thrown), stale: true, claims: null }
  }
}
