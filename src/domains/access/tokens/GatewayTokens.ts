/**
 * The internal JWT of a gateway: what a `ksh_` token is exchanged for at the validation endpoint, so that the secret stays
 * at the gateway (interface specification, section 5.2; contract, section 4). It names the credential's row and lives 30
 * seconds; the Core API reads the row again at every request, so a revocation binds the next one behind a gateway too.
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

/** The token that it was exchanged for: taken by the Core API of this installation only. */
const ISSUER = "urn:keyshelf:token-validation"
const AUDIENCE = "urn:keyshelf:core-api"
const TYPE = "keyshelf-gateway+jwt"
const ALGORITHM = "EdDSA"

/** How long an internal JWT lives, in seconds. */
export const LIFETIME_SECONDS = 30

/**
 * How every internal JWT begins: `typ` is the first member of its header, and the signature covers the header. Gateways
 * know by it what must not come in from outside.
 */
export const BEGINNING = Buffer.from(`{"typ":"${TYPE}`.slice(0, 27)).toString("base64url")

/** Which stored tokens the Core API takes: `direct` as they are or exchanged, `gateway` only as a gateway exchanged them. */
export const AuthMode = Context.Reference<"direct" | "gateway">("keyshelf.reference/access/AuthMode", {
  defaultValue: () => "direct",
})

// An Ed25519 private key in PKCS #8 is this and its 32 bytes (RFC 8410, section 7).
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
    /** An internal JWT for the credential that was just authenticated. */
    readonly issue: (credential: StoredCredential) => Effect.Effect<Redacted.Redacted>
    /** Whether the text has the form of an internal JWT; says nothing about whether it is one. */
    readonly recognizes: (credential: Redacted.Redacted) => boolean
    /** The live organization credential that an internal JWT names. Whatever else is sent fails alike. */
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

      const rowNamedBy = Effect.fnUntraced(function* (text: string) {
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
          Option.flatMap(verified, ({ payload }) => Option.fromNullishOr(payload.sub)),
          isRowId,
        )
      })

      const recognizes = (credential: Redacted.Redacted) => Redacted.value(credential).startsWith(BEGINNING)

      return GatewayTokens.of({
        recognizes,
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
          const id = recognizes(credential) ? yield* rowNamedBy(Redacted.value(credential)) : Option.none<string>()
          return yield* credentials.withId("organization", id)
        }),
      })
    }),
  )
}
