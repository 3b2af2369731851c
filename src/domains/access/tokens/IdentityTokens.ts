/**
 * Verifies tokens of the identity provider (RFC 8725). Keys come only from the configured provider: key references
 * inside a token (`jku`, `jwk`, `x5u`, `x5c`) are ignored.
 */
import { Context, Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import { decodeProtectedHeader, errors, jwtVerify } from "jose"
import type { JWTPayload, LocalJWKSet } from "jose"
import { IdentityProvider } from "../../../kernel/ports/IdentityProvider.ts"
import type { Claims, Provider } from "../../../kernel/ports/IdentityProvider.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Text } from "../../../kernel/values/Text.ts"
import { keySetOf } from "./KeySet.ts"
import { areTimesValid } from "./NumericDates.ts"

/** Accepted signature algorithms. All are asymmetric, so that a public key cannot be used as a shared secret. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]

/** Accepted `typ` headers: none, JWT, or access token (RFC 9068). Logout tokens and internal JWTs are rejected. */
const TYPES = new Set<unknown>([undefined, "jwt", "at+jwt"])

/** A longer token is rejected without decoding it. Providers that write a person's many groups into it need 12 KiB. */
const MAX_TOKEN_LENGTH = 16_384

const CLOCK_SKEW_SECONDS = 60

/** The token is not valid. The reason is not reported, because all failures get the same response. */
class NotVerified extends Schema.TaggedError<NotVerified>()("NotVerified", {}) {}

const isSubject = Schema.is(Text(1, 255))

const typeOf = (typ: unknown): unknown =>
  Predicate.isString(typ) ? typ.toLowerCase().replace(/^application\//, "") : typ

// Rejects headers that jose would accept.
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

const reject = Effect.fail(new NotVerified())

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
    const current = yield* keys.current
    return yield* check(token, current, at).pipe(
      Effect.catchIf(
        (error) => error instanceof errors.JWKSNoMatchingKey,
        () => Effect.flatMap(keys.after(current), (fresh) => check(token, fresh, at)),
      ),
    )
  })

  return Effect.fnUntraced(function* (credential: Redacted.Redacted) {
    const token = Redacted.value(credential)
    if (token.length > MAX_TOKEN_LENGTH || !isHeaderAccepted(token)) return yield* reject
    const { payload } = yield* Effect.catch(payloadOf(token), () => reject)
    const subject: unknown = payload.sub
    if (!areTimesValid(payload) || !isSubject(subject)) return yield* reject
    return { subject, all: payload satisfies JWTPayload as Readonly<Record<string, unknown>> } satisfies Claims
  })
})

/** Verifies tokens of the configured identity provider. Without a provider it rejects every token. */
export class IdentityTokens extends Context.Service<
  IdentityTokens,
  {
    /** Returns the claims of a valid token, and the provider that signed it. */
    readonly verify: (credential: Redacted.Redacted) => Effect.Effect<Verified, NotVerified>
  }
>()("keyshelf/access/IdentityTokens") {
  static readonly layer = Layer.effect(
    IdentityTokens,
    Effect.gen(function* () {
      const provider = yield* IdentityProvider
      if (Option.isNone(provider)) return IdentityTokens.of({ verify: () => reject })
      const verify = yield* verifier(provider.value)
      return IdentityTokens.of({
        verify: (credential) => Effect.map(verify(credential), (claims) => ({ provider: provider.value, claims })),
      })
    }),
  )
}

/** The claims of a verified token, and the provider that signed it. */
interface Verified {
  readonly provider: Provider
  readonly claims: Claims
}
