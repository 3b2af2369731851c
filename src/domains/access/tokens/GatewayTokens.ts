/**
 * Internal JWTs. The validation endpoint exchanges a `ksh_` token for one, so that the secret stays at the gateway. The
 * JWT names the credential's row and expires after 30 seconds. The Core API reads the row for each request, so a
 * revocation also applies to the next request through a gateway.
 */
import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { jwtVerify, SignJWT } from "jose"
import { createPrivateKey, createPublicKey } from "node:crypto"
import type { InvalidCredential } from "../../../kernel/contract/Problem.ts"
import type { PurposeKey } from "../../../kernel/ports/KeyRing.ts"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { StoredCredential } from "../Model.ts"
import { Credentials } from "./Credentials.ts"
import { areTimesValid } from "./NumericDates.ts"

/** Only the Core API of this installation accepts tokens of this issuer. */
const ISSUER = "urn:keyshelf:token-validation"
const AUDIENCE = "urn:keyshelf:core-api"
const TYPE = "keyshelf-gateway+jwt"
const ALGORITHM = "EdDSA"

/** Lifetime of an internal JWT, in seconds. */
const LIFETIME_SECONDS = 30

/**
 * The text that every internal JWT begins with: `typ` is the first property of its signed header. Gateways reject
 * requests from outside whose credential begins with it.
 */
export const GATEWAY_TOKEN_PREFIX = Buffer.from(`{"typ":"${TYPE}`.slice(0, 27)).toString("base64url")

/**
 * Which tokens the Core API accepts: `direct` accepts `ksh_` tokens and internal JWTs, `gateway` only internal JWTs.
 */
export const AuthMode = Context.Reference<"direct" | "gateway">("keyshelf.reference/access/AuthMode", {
  defaultValue: () => "direct",
})

// The prefix of the 32 key bytes of an Ed25519 private key in PKCS #8 (RFC 8410, section 7).
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex")

const signingKey = ({ bytes, id }: PurposeKey) => {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, bytes]), format: "der", type: "pkcs8" })
  return { id, privateKey, publicKey: createPublicKey(privateKey) }
}

const isRowId = Schema.is(Schema.String.check(Schema.isUUID()))

/** Signs and verifies internal JWTs. Every node derives the same keys from `SERVICE_SECRET_KEY`. */
export class GatewayTokens extends Context.Service<
  GatewayTokens,
  {
    /** Issues an internal JWT for a credential that was just authenticated. */
    readonly issue: (credential: StoredCredential) => Effect.Effect<Redacted.Redacted>
    /** Whether the text begins like an internal JWT. Does not verify it. */
    readonly hasPrefix: (credential: Redacted.Redacted) => boolean
    /** Returns the live organization credential that an internal JWT names. All other input fails with one error. */
    readonly verify: (credential: Redacted.Redacted) => Effect.Effect<StoredCredential, InvalidCredential>
  }
>()("keyshelf/access/GatewayTokens") {
  static readonly layer = Layer.effect(
    GatewayTokens,
    Effect.gen(function* () {
      const credentials = yield* Credentials
      const keys = (yield* Secrets).keysFor("gateway-jwt").map(signingKey)
      const [current] = keys
      if (current === undefined) return yield* Effect.die(new Error("The installation has no secret key"))

      const rowIdOf = Effect.fnUntraced(function* (text: string) {
        const currentDate = yield* now
        const verified = yield* Effect.tryPromise(() =>
          jwtVerify(
            text,
            ({ kid }) => {
              const key = keys.find(({ id }) => id === kid)
              if (key === undefined) throw new Error("unknown key")
              return key.publicKey
            },
            {
              algorithms: [ALGORITHM],
              typ: TYPE,
              issuer: ISSUER,
              audience: AUDIENCE,
              currentDate,
              requiredClaims: ["exp", "sub"],
            },
          ),
        ).pipe(Effect.option)
        return Option.filter(
          Option.flatMap(verified, ({ payload }) =>
            areTimesValid(payload) ? Option.fromNullishOr(payload.sub) : Option.none(),
          ),
          isRowId,
        )
      })

      const recognizes = (credential: Redacted.Redacted) => Redacted.value(credential).startsWith(GATEWAY_TOKEN_PREFIX)

      return GatewayTokens.of({
        hasPrefix: recognizes,
        issue: Effect.fnUntraced(function* ({ id }) {
          const issuedAt = Math.floor((yield* now).getTime() / 1000)
          const token = new SignJWT()
            .setProtectedHeader({ typ: TYPE, alg: ALGORITHM, kid: current.id })
            .setIssuer(ISSUER)
            .setAudience(AUDIENCE)
            .setSubject(id)
            .setIssuedAt(issuedAt)
            .setExpirationTime(issuedAt + LIFETIME_SECONDS)
          return Redacted.make(yield* Effect.promise(() => token.sign(current.privateKey)))
        }),
        verify: Effect.fnUntraced(function* (credential) {
          const id = recognizes(credential) ? yield* rowIdOf(Redacted.value(credential)) : Option.none<string>()
          return yield* credentials.findLive("organization", id)
        }),
      })
    }),
  )
}
