import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { exportSPKI, UnsecuredJWT } from "jose"
import type { JSONWebKeySet } from "jose"
import { createHmac, createSign, KeyObject } from "node:crypto"
import { IdentityTokens } from "../../src/domains/access/tokens/IdentityTokens.ts"
import { IdentityProvider } from "../../src/kernel/ports/IdentityProvider.ts"
import { AUDIENCE, newKey, sign, signText } from "../support/Issuer.ts"
import type { Algorithm, SigningKey, TokenChange } from "../support/Issuer.ts"

const ISSUER = "https://login.example"
const NOW = new Date("2030-01-01T00:00:00Z").getTime()
const seconds = NOW / 1000

/** Verifies tokens of a provider with these keys. Sets the clock to {@link NOW}. */
const verifying = Effect.fnUntraced(function* (keys: JSONWebKeySet["keys"]) {
  yield* TestClock.setTime(NOW)
  const provider = Option.some({
    issuer: ISSUER,
    audience: AUDIENCE,
    organizationClaim: "org_id",
    provisioning: "off" as const,
    fetchKeys: Effect.succeed({ keys }),
  })
  const built = yield* Layer.build(IdentityTokens.layer.pipe(Layer.provide(Layer.succeed(IdentityProvider, provider))))
  const { verify } = Context.get(built, IdentityTokens)
  return (token: string) => Effect.map(Effect.option(verify(Redacted.make(token))), Option.isSome)
})

const signedBy = (key: SigningKey) => (change?: TokenChange) => sign(key, ISSUER, change, NOW)

describe("a token of the identity provider", () => {
  it.effect(
    "is accepted with each of the four algorithms, and rejected if another key with the same id signed it",
    () =>
      Effect.gen(function* () {
        for (const alg of ["RS256", "PS256", "ES256", "EdDSA"] satisfies ReadonlyArray<Algorithm>) {
          const key = yield* newKey(alg)
          const isGood = yield* verifying([key.jwk])
          assert.isTrue(yield* isGood(yield* signedBy(key)()), alg)
          const other = yield* newKey(alg, key.kid)
          assert.isFalse(yield* isGood(yield* signedBy(other)()), `${alg} by another key of the same id`)
        }
      }),
  )

  it.effect("is rejected with every other algorithm, even if the public key is used as a shared secret", () =>
    Effect.gen(function* () {
      const key = yield* newKey("RS256")
      // A key without an algorithm: only the service's own list applies.
      const { alg: _, ...jwk } = key.jwk
      const isGood = yield* verifying([jwk, { kty: "oct", k: "c2VjcmV0", kid: "shared", alg: "HS256" }])
      const claims = { iss: ISSUER, aud: AUDIENCE, sub: "anna", exp: seconds + 600 }
      const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")
      const spki = yield* Effect.promise(() => exportSPKI(key.publicKey))
      const withSecret = (secret: string, header: object) => {
        const text = `${encoded(header)}.${encoded(claims)}`
        return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`
      }
      const genuine = yield* signedBy(key)()
      const [, payload = "", signature = ""] = genuine.split(".")
      const rejected = {
        none: new UnsecuredJWT(claims).encode(),
        "none in capitals": `${encoded({ alg: "NONE" })}.${encoded(claims)}.`,
        "none with a signature": `${encoded({ alg: "none", kid: key.kid })}.${payload}.${signature}`,
        "the public key's text as a secret": withSecret(spki, { alg: "HS256", kid: key.kid }),
        "the public key's JWK as a secret": withSecret(JSON.stringify(key.jwk), { alg: "HS256", kid: key.kid }),
        "the modulus as a secret": withSecret(key.jwk.n ?? "", { alg: "HS256", kid: key.kid }),
        "a shared key of the set": withSecret("secret", { alg: "HS256", kid: "shared" }),
        "no algorithm": `${encoded({ typ: "JWT", kid: key.kid })}.${payload}.${signature}`,
        "an algorithm that does not match the key": `${encoded({ alg: "PS256", kid: key.kid })}.${payload}.${signature}`,
        "an algorithm of another key type": `${encoded({ alg: "ES256", kid: key.kid })}.${payload}.${signature}`,
        RS384: ((text: string) =>
          `${text}.${createSign("RSA-SHA384").update(text).sign(KeyObject.from(key.privateKey), "base64url")}`)(
          `${encoded({ alg: "RS384", kid: key.kid })}.${payload}`,
        ),
        "a list of algorithms": `${encoded({ alg: ["RS256"], kid: key.kid })}.${payload}.${signature}`,
        "no signature": genuine.slice(0, genuine.lastIndexOf(".") + 1),
        "an altered payload": genuine.replace(payload, encoded({ ...claims, sub: "mallory" })),
        "a fourth part": `${genuine}.${signature}`,
        nothing: "",
        dots: "..",
        "an empty header": "e30.e30.e30",
        "a header that is not an object": `${Buffer.from("[]").toString("base64url")}.${payload}.${signature}`,
      }
      assert.isTrue(yield* isGood(genuine))
      for (const [name, token] of Object.entries(rejected)) assert.isFalse(yield* isGood(token), name)
    }),
  )

  it.effect("is rejected if the issuer, audience, times or subject are missing or invalid", () =>
    Effect.gen(function* () {
      const key = yield* newKey("ES256")
      const isGood = yield* verifying([key.jwk])
      const signed = signedBy(key)
      for (const claims of [
        { aud: [AUDIENCE, "https://other.example"] },
        { nbf: seconds + 60 },
        { exp: seconds - 59 },
        { sub: "x".repeat(255) },
        { iat: undefined },
      ]) {
        assert.isTrue(yield* isGood(yield* signed({ claims })), JSON.stringify(claims))
      }
      for (const claims of [
        { iss: undefined },
        { iss: `${ISSUER}/` },
        { iss: ISSUER.toUpperCase() },
        { iss: [ISSUER] },
        { aud: undefined },
        { aud: `${AUDIENCE}/` },
        { aud: [] },
        { aud: ["https://other.example"] },
        { aud: { [AUDIENCE]: true } },
        { exp: undefined },
        { exp: seconds - 60 },
        { exp: String(seconds + 600) },
        { nbf: seconds + 61 },
        { nbf: "soon" },
        { sub: undefined },
        { sub: "" },
        { sub: 7 },
        { sub: "a\u0000b" },
        { sub: "x".repeat(256) },
      ]) {
        assert.isFalse(yield* isGood(yield* signed({ claims })), JSON.stringify(claims))
      }
    }),
  )

  it.effect("is rejected if one of its times is no time, however JSON writes it", () =>
    Effect.gen(function* () {
      const key = yield* newKey("ES256")
      const isGood = yield* verifying([key.jwk])
      const fixed = `"iss":"${ISSUER}","aud":"${AUDIENCE}","sub":"anna"`
      const isAccepted = (times: string) => Effect.flatMap(signText(key, `{${fixed}${times}}`), isGood)
      const exp = `,"exp":${seconds + 600}`
      for (const times of [
        exp,
        `,"exp":${seconds + 0.5}`,
        `,"exp":${seconds + 600}.0e0`,
        `${exp},"nbf":0,"iat":0.25`,
      ]) {
        assert.isTrue(yield* isAccepted(times), times)
      }
      const noTimes = ["1e400", "-1e400", "1e300", "8640000000001", "-1", "-1e-9", "NaN", "Infinity", "0x7fffffffff"]
      const noNumbers = [`"${seconds + 600}"`, '"1e400"', '""', "null", "true", "[]", "{}", `[${seconds + 600}]`]
      for (const value of [...noTimes, ...noNumbers]) {
        assert.isFalse(yield* isAccepted(`,"exp":${value}`), `exp ${value}`)
        assert.isFalse(yield* isAccepted(`${exp},"exp":${value}`), `exp twice, ${value} last`)
        assert.isFalse(yield* isAccepted(`${exp},"nbf":${value}`), `nbf ${value}`)
        assert.isFalse(yield* isAccepted(`${exp},"iat":${value}`), `iat ${value}`)
      }
      assert.isFalse(yield* isAccepted(""), "no exp")
      assert.isFalse(yield* isAccepted(`,"exp":${seconds - 60.5}`), "expired, with a fraction")
      for (const text of ["", "[]", "7", "null", `"exp"`, "{"]) {
        assert.isFalse(yield* isGood(yield* signText(key, text)), `claims ${text}`)
      }
    }),
  )

  it.effect("expires by the service's clock, with a tolerance of 60 seconds", () =>
    Effect.gen(function* () {
      const key = yield* newKey("ES256")
      const isGood = yield* verifying([key.jwk])
      const token = yield* signedBy(key)({ claims: { exp: seconds + 600 } })
      yield* TestClock.setTime(NOW + 659_999)
      assert.isTrue(yield* isGood(token))
      yield* TestClock.setTime(NOW + 660_000)
      assert.isFalse(yield* isGood(token))
    }),
  )

  it.effect("is rejected if its type is not absent, a JWT or an access token", () =>
    Effect.gen(function* () {
      const key = yield* newKey("ES256")
      const isGood = yield* verifying([key.jwk])
      const signed = signedBy(key)
      for (const typ of [undefined, "JWT", "jwt", "at+jwt", "application/at+jwt"]) {
        assert.isTrue(yield* isGood(yield* signed({ header: { typ } })), String(typ))
      }
      for (const typ of ["logout+jwt", "dpop+jwt", "keyshelf-gateway+jwt", "secevent+jwt", "JOSE", "", 7, null]) {
        assert.isFalse(yield* isGood(yield* signed({ header: { typ } })), String(typ))
      }
    }),
  )

  it.effect("is rejected with critical extensions, and its embedded keys are ignored", () =>
    Effect.gen(function* () {
      const key = yield* newKey("ES256")
      const mallory = yield* newKey("ES256", key.kid)
      const isGood = yield* verifying([key.jwk])
      const keys = {
        jku: "https://mallory.example/keys",
        x5u: "https://mallory.example/certificate",
        jwk: mallory.jwk,
        x5c: ["MIIB"],
      }
      for (const [name, value] of Object.entries(keys)) {
        assert.isFalse(yield* isGood(yield* signedBy(mallory)({ header: { [name]: value } })), name)
        // Some providers add it to valid tokens. It is ignored.
        assert.isTrue(yield* isGood(yield* signedBy(key)({ header: { [name]: value } })), name)
      }
      const [, payload, signature] = (yield* signedBy(key)()).split(".")
      for (const crit of [["b64"], ["exp"], [], "b64"]) {
        const header = Buffer.from(JSON.stringify({ alg: "ES256", kid: key.kid, crit, b64: true, exp: 1 }))
        assert.isFalse(yield* isGood(`${header.toString("base64url")}.${payload}.${signature}`))
      }
      const signedCrit = yield* signedBy(key)({ header: { crit: ["b64"], b64: true } })
      assert.isFalse(yield* isGood(signedCrit))
      assert.isFalse(yield* isGood(yield* signedBy(key)({ header: { kid: 7 } })))
    }),
  )

  it.effect("is rejected without a key id, unless only one key can match", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* newKey("ES256"), yield* newKey("ES256")]
      const unnamed = yield* signedBy(first)({ header: { kid: undefined } })
      assert.isTrue(yield* (yield* verifying([first.jwk]))(unnamed))
      assert.isFalse(yield* (yield* verifying([first.jwk, second.jwk]))(unnamed))
    }),
  )

  it.effect("is verified only with complete keys for signatures with the right algorithm", () =>
    Effect.gen(function* () {
      const key = yield* newKey("RS256")
      const token = yield* signedBy(key)()
      assert.isFalse(yield* (yield* verifying([{ ...key.jwk, use: "enc" }]))(token))
      assert.isFalse(yield* (yield* verifying([{ ...key.jwk, key_ops: ["encrypt"] }]))(token))
      assert.isFalse(yield* (yield* verifying([{ ...key.jwk, alg: "PS256" }]))(token))
      assert.isFalse(yield* (yield* verifying([{ kty: "RSA", kid: key.kid }]))(token))
      // Invalid keys in the set do not affect valid ones.
      assert.isTrue(yield* (yield* verifying([{ kty: "RSA", kid: "bad" }, { kty: "what" }, key.jwk]))(token))
    }),
  )

  it.effect("is rejected if it is longer than 8 KiB", () =>
    Effect.gen(function* () {
      const key = yield* newKey("ES256")
      const isGood = yield* verifying([key.jwk])
      assert.isTrue(yield* isGood(yield* signedBy(key)({ claims: { groups: "g".repeat(11_500) } })))
      assert.isFalse(yield* isGood(yield* signedBy(key)({ claims: { groups: "g".repeat(12_500) } })))
    }),
  )

  it.effect("is rejected if no provider is configured", () =>
    Effect.gen(function* () {
      const key = yield* newKey("ES256")
      const { verify } = yield* Effect.provide(IdentityTokens, IdentityTokens.layer)
      yield* Effect.flip(verify(Redacted.make(yield* signedBy(key)())))
    }),
  )
})
