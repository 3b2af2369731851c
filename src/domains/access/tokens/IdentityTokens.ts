/**
 * Verifies tokens of the identity provider (contract, section 4 and section 9, "Credentials"; RFC 8725). Keys come from
 * the configured provider and from nowhere else: what a token says about keys (`jku`, `jwk`, `x5u`, `x5c`) is not read.
 */
import { Context, Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import { decodeProtectedHeader, errors, jwtVerify } from "jose"
import type { JWTPayload, LocalJWKSet } from "jose"
import { IdentityProvider } from "../../../kernel/ports/IdentityProvider.ts"
import type { Claims, Provider } from "../../../kernel/ports/IdentityProvider.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Text } from "../../../kernel/values/Text.ts"
import { keySetOf } from "./KeySet.ts"

/** Signatures that are accepted: asymmetric ones only, so that no public key can pass for a shared secret. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]

/** What a token may call itself: nothing, a JWT, or an access token (RFC 9068). No logout token, no token of a gateway. */
const TYPES = new Set<unknown>([undefined, "jwt", "at+jwt"])

/** A longer token is refused unread. Proxies refuse such headers too. */
const LONGEST = 8192

const CLOCK_SKEW_SECONDS = 60

/** The token is not good. Why stays here: every failure has one answer. */
export class NotVerified extends Schema.TaggedError<NotVerified>()("NotVerified", {}) {}

const isSubject = Schema.is(Text(1, 255))

const typeOf = (typ: unknown): unknown =>
  Predicate.isString(typ) ? typ.toLowerCase().replace(/^application\//, "") : typ

// jose checks the algorithm; what is left is what it would tolerate.
const isHeaderAccepted = (token: string): boolean => {
  try {
    const header = decodeProtectedHeader(token)
    return (
      ALGORITHMS.includes(header.alg ?? "") &&
      TYPES.has(typeOf(header.typ)) &&
      !("crit" in header) &&
      (header.kid === undefined || Predicate.isString(header.kid))
    )
  } catch {
    return false
  }
}

const refuse = Effect.fail(new NotVerified())

const verifier = Effect.fnUntraced(function* (provider: Provider) {
  const keys = yield* keySetOf(provider)

  const check = (token: string, keySet: LocalJWKSet, at: Date) =>
    Effect.tryPromise({
      try: () =>
        jwtVerify(token, keySet, {
          algorithms: ALGORITHMS,
          issuer: provider.issuer,
          audience: provider.audience,
          requiredClaims: ["exp"],
          clockTolerance: CLOCK_SKEW_SECONDS,
          currentDate: at,
        }),
      catch: (error) => error,
    })

  const payloadOf = Effect.fnUntraced(function* (token: string) {
    const at = yield* now
    const held = yield* keys.current
    return yield* check(token, held, at).pipe(
      Effect.catchIf(
        (error) => error instanceof errors.JWKSNoMatchingKey,
        () => Effect.flatMap(keys.after(held), (fresh) => check(token, fresh, at)),
      ),
    )
  })

  return Effect.fnUntraced(function* (credential: Redacted.Redacted) {
    const token = Redacted.value(credential)
    if (token.length > LONGEST || !isHeaderAccepted(token)) return yield* refuse
    const { payload } = yield* Effect.catch(payloadOf(token), () => refuse)
    const subject: unknown = payload.sub
    if (!isSubject(subject)) return yield* refuse
    return { subject, all: payload satisfies JWTPayload as Readonly<Record<string, unknown>> } satisfies Claims
  })
})

/** Verifies tokens of the configured identity provider; without one it refuses all. */
export class IdentityTokens extends Context.Service<
  IdentityTokens,
  {
    /** The claims of a good token, and the provider that vouches for them. */
    readonly verify: (credential: Redacted.Redacted) => Effect.Effect<Verified, NotVerified>
  }
>()("keyshelf/access/IdentityTokens") {
  static readonly layer = Layer.effect(
    IdentityTokens,
    Effect.gen(function* () {
      const provider = yield* IdentityProvider
      if (Option.isNone(provider)) return IdentityTokens.of({ verify: () => refuse })
      const verify = yield* verifier(provider.value)
      return IdentityTokens.of({
        verify: (credential) => Effect.map(verify(credential), (claims) => ({ provider: provider.value, claims })),
      })
    }),
  )
}

/** A token that was verified, and by whose keys. */
export interface Verified {
  readonly provider: Provider
  readonly claims: Claims
}
