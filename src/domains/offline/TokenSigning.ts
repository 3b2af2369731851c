/** Signs the claims of bundles and snapshots. */
import { Effect } from "effect"
import { invalid } from "../../kernel/contract/Problem.ts"
import type { StoredKey } from "../signing/Model.ts"
import { Signer } from "../signing/Signer.ts"

/** The `typ` of the header. It keeps bundles apart from revocation lists and other JWTs. */
const BUNDLE_TYPE = "keyshelf-bundle+jwt"

/** The maximum length of a bundle and of a list. Verifiers reject longer ones. */
const MAX_BUNDLE_CHARACTERS = 262_144

/** What is signed, and what a rejection names. */
interface Signed {
  readonly claims: { readonly rules?: unknown }
  /** The place of the request that asks for it. */
  readonly location: string
  readonly noun: "bundle" | "snapshot"
}

/** Signs claims, without their rules if these alone make them too long. Fails if the token is too long nevertheless. */
export const tokenSigning = Effect.map(Signer, (signer) =>
  Effect.fnUntraced(function* (key: StoredKey, { claims, location, noun }: Signed) {
    const sign = (signed: object) => signer.signToken(key, BUNDLE_TYPE, JSON.stringify(signed))
    const token = yield* sign(claims)
    if (token.length <= MAX_BUNDLE_CHARACTERS) return token
    const { rules: _, ...others } = claims
    const shorter = yield* sign(others)
    if (shorter.length <= MAX_BUNDLE_CHARACTERS) return shorter
    return yield* invalid(
      location,
      `makes a ${noun} of ${shorter.length} characters, at most ${MAX_BUNDLE_CHARACTERS} are allowed: the configurations and flags of the instance are too large`,
    )
  }),
)
