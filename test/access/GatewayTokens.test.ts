import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { CompactSign, decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT, UnsecuredJWT } from "jose"
import { createPrivateKey, randomUUID } from "node:crypto"
import { GATEWAY_TOKEN_PREFIX, GatewayTokens } from "../../src/domains/access/tokens/GatewayTokens.ts"
import { Credentials } from "../../src/domains/access/tokens/Credentials.ts"
import { Secrets } from "../../src/kernel/ports/KeyRing.ts"
import * as InstallationSecrets from "../../src/infra/KeyRing.ts"
import { TestService } from "../support/TestService.ts"

const key = (id: string, fill: number) => ({ id, bytes: Redacted.make(new Uint8Array(32).fill(fill)) })

/** The service of an installation with these keys. */
const withKeys = (...keys: ReadonlyArray<ReturnType<typeof key>>) =>
  Effect.provide(
    GatewayTokens,
    Layer.fresh(GatewayTokens.layer).pipe(Layer.provide(InstallationSecrets.layerFrom(keys))),
  )

/** The key that the test installation signs with. */
const signingKey = Effect.map(Secrets, (secrets) =>
  createPrivateKey({
    key: Buffer.concat([
      Buffer.from("302e020100300506032b657004220420", "hex"),
      secrets.keysFor("gateway-jwt")[0].bytes,
    ]),
    format: "der",
    type: "pkcs8",
  }),
)

/** A token of a new organization, with its row. */
const authenticated = Effect.gen(function* () {
  const { tenant } = yield* TestService
  const { organizationId, token } = yield* tenant()
  const row = yield* (yield* Credentials).authenticate("organization", Redacted.make(token))
  return { organizationId, row, token }
})

const errorOf = (tokens: GatewayTokens["Service"], text: string) =>
  Effect.map(Effect.flip(tokens.verify(Redacted.make(text))), (problem) => problem._tag)

layer(TestService.separate, { excludeTestServices: true })("internal JWTs of a gateway", (it) => {
  it.effect("an internal JWT contains its type, issuer, audience and the row's id, but not the secret", () =>
    Effect.gen(function* () {
      const { row, token } = yield* authenticated
      const tokens = yield* GatewayTokens
      const jwt = Redacted.value(yield* tokens.issue(row))
      assert.deepStrictEqual(decodeProtectedHeader(jwt), { typ: "keyshelf-gateway+jwt", alg: "EdDSA", kid: "test" })
      const { exp = 0, iat = 0, ...claims } = decodeJwt(jwt)
      assert.deepStrictEqual(claims, {
        iss: "urn:keyshelf:token-validation",
        aud: "urn:keyshelf:core-api",
        sub: row.id,
      })
      assert.strictEqual(exp - iat, 30)
      assert.notInclude(jwt, token.slice(4))
      assert.deepStrictEqual(yield* tokens.verify(Redacted.make(jwt)), row)
    }),
  )

  it.effect("an internal JWT expires after 30 seconds of the service's clock", () =>
    Effect.gen(function* () {
      const { row } = yield* authenticated
      const tokens = yield* GatewayTokens
      yield* Effect.gen(function* () {
        const at = new Date("2030-01-01T00:00:00Z").getTime()
        yield* TestClock.setTime(at + 999)
        const jwt = yield* tokens.issue(row)
        yield* TestClock.setTime(at + 29_999)
        assert.strictEqual((yield* tokens.verify(jwt)).id, row.id)
        yield* TestClock.setTime(at + 30_000)
        assert.strictEqual((yield* Effect.flip(tokens.verify(jwt)))._tag, "Auth.InvalidCredential")
      }).pipe(Effect.provide(TestClock.layer()))
    }),
  )

  it.effect("an internal JWT is rejected once its credential is revoked", () =>
    Effect.gen(function* () {
      const { operator, platform } = yield* TestService
      const { organizationId, row } = yield* authenticated
      const tokens = yield* GatewayTokens
      const jwt = yield* tokens.issue(row)
      const listed = yield* platform("GET", `/platform/organizations/${organizationId}/tokens`, { token: operator })
      const path = `/platform/organizations/${organizationId}/tokens/${listed.body.items[0].slug}`
      yield* tokens.verify(jwt)
      assert.strictEqual((yield* platform("DELETE", path, { token: operator })).status, 204)
      assert.strictEqual((yield* Effect.flip(tokens.verify(jwt)))._tag, "Auth.InvalidCredential")
    }),
  )

  it.effect("the first key signs, all keys verify, and a JWT of a removed key is rejected", () =>
    Effect.gen(function* () {
      const { row } = yield* authenticated
      const [before, during, after] = [key("a", 1), key("b", 2), key("c", 3)]
      const old = yield* (yield* withKeys(before)).issue(row)
      const rotated = yield* withKeys(during, before)
      assert.strictEqual((yield* rotated.verify(old)).id, row.id)
      assert.strictEqual(decodeProtectedHeader(Redacted.value(yield* rotated.issue(row))).kid, "b")
      const gone = yield* withKeys(after, during)
      assert.strictEqual(yield* errorOf(gone, Redacted.value(old)), "Auth.InvalidCredential")
      // A different key with the same id does not verify it either.
      assert.strictEqual(yield* errorOf(yield* withKeys(key("a", 9)), Redacted.value(old)), "Auth.InvalidCredential")
    }),
  )

  it.effect("nodes with the same secret key accept each other's internal JWTs", () =>
    Effect.gen(function* () {
      const { row } = yield* authenticated
      const [one, other] = yield* Effect.all([withKeys(key("x", 5)), withKeys(key("x", 5))])
      assert.strictEqual((yield* other.verify(yield* one.issue(row))).id, row.id)
    }),
  )

  it.effect("an internal JWT that names a platform credential is rejected", () =>
    Effect.gen(function* () {
      const { operator } = yield* TestService
      const row = yield* (yield* Credentials).authenticate("platform", Redacted.make(operator))
      const tokens = yield* GatewayTokens
      const jwt = Redacted.value(yield* tokens.issue(row))
      assert.strictEqual(yield* errorOf(tokens, jwt), "Auth.InvalidCredential")
    }),
  )

  it.effect("forged internal JWTs are rejected: unsigned, signed with another key, altered, or incomplete", () =>
    Effect.gen(function* () {
      const { row } = yield* authenticated
      const tokens = yield* GatewayTokens
      const genuine = Redacted.value(yield* tokens.issue(row))
      const [header = "", payload = "", signature = ""] = genuine.split(".")
      const foreign = yield* Effect.promise(() => generateKeyPair("EdDSA"))
      const sharedSecret = new Uint8Array(32).fill(7)
      const claims = decodeJwt(genuine)
      const protectedHeader = { typ: "keyshelf-gateway+jwt", alg: "EdDSA", kid: "test" }
      const signed = (change: object, keyed: Parameters<SignJWT["sign"]>[0], over: object = {}) =>
        Effect.promise(() =>
          new SignJWT({ ...claims, ...change }).setProtectedHeader({ ...protectedHeader, ...over }).sign(keyed),
        )
      const forged = {
        unsigned: new UnsecuredJWT(claims).encode(),
        "without signature": `${header}.${payload}.`,
        "with another key": yield* signed({}, foreign.privateKey),
        "with a shared secret": yield* signed({}, sharedSecret, { alg: "HS256" }),
        "with an embedded key": yield* signed({}, foreign.privateKey, {
          jwk: { kty: "OKP", crv: "Ed25519", x: "AA" },
        }),
        "altered payload": `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: randomUUID() })).toString("base64url")}.${signature}`,
        "altered signature": `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
        "with a suffix": `${genuine}.x`,
        "with a leading space": ` ${genuine}`,
        "only the prefix": GATEWAY_TOKEN_PREFIX,
        nothing: "",
      }
      for (const [name, text] of Object.entries(forged)) {
        assert.strictEqual(yield* errorOf(tokens, text), "Auth.InvalidCredential", name)
      }
      assert.strictEqual((yield* tokens.verify(Redacted.make(genuine))).id, row.id)
    }),
  )

  it.effect(
    "an internal JWT with a valid signature but wrong type, issuer, audience, expiry, row or key id is rejected",
    () =>
      Effect.gen(function* () {
        const { row } = yield* authenticated
        const tokens = yield* GatewayTokens
        const signing = yield* signingKey
        const claims = decodeJwt(Redacted.value(yield* tokens.issue(row)))
        const sign = (change: object, over: object = {}) =>
          Effect.promise(() =>
            new SignJWT({ ...claims, ...change })
              .setProtectedHeader({ typ: "keyshelf-gateway+jwt", alg: "EdDSA", kid: "test", ...over })
              .sign(signing),
          )
        const signText = (text: string) =>
          Effect.promise(() =>
            new CompactSign(new TextEncoder().encode(text))
              .setProtectedHeader({ typ: "keyshelf-gateway+jwt", alg: "EdDSA", kid: "test" })
              .sign(signing),
          )
        assert.strictEqual((yield* tokens.verify(Redacted.make(yield* sign({})))).id, row.id)
        const wrong = {
          issuer: yield* sign({ iss: "https://idp.example" }),
          audience: yield* sign({ aud: "urn:keyshelf:platform-api" }),
          "no expiry": yield* sign({ exp: undefined }),
          expired: yield* sign({ exp: (claims.iat ?? 0) - 1 }),
          "an expiry as text": yield* sign({ exp: String(claims.exp) }),
          "an endless expiry": yield* signText(
            `{"iss":"${claims.iss}","aud":"${String(claims.aud)}","sub":"${claims.sub}","exp":1e400}`,
          ),
          "no row": yield* sign({ sub: undefined }),
          "a row that is not an id": yield* sign({ sub: "x'; DROP TABLE credentials" }),
          "an unknown row": yield* sign({ sub: randomUUID() }),
          type: yield* sign({}, { typ: "JWT" }),
          "unknown key": yield* sign({}, { kid: "other" }),
          "no key id": yield* sign({}, { kid: undefined }),
        }
        for (const [name, text] of Object.entries(wrong)) {
          assert.strictEqual(yield* errorOf(tokens, text), "Auth.InvalidCredential", name)
        }
      }),
  )

  it.effect("an internal JWT begins with the prefix that gateways recognize", () =>
    Effect.gen(function* () {
      const { row } = yield* authenticated
      const tokens = yield* GatewayTokens
      const jwt = yield* tokens.issue(row)
      assert.strictEqual(GATEWAY_TOKEN_PREFIX, "eyJ0eXAiOiJrZXlzaGVsZi1nYXRld2F5K2p3")
      assert.isTrue(tokens.hasPrefix(jwt))
      assert.isFalse(tokens.hasPrefix(Redacted.make("eyJhbGciOiJSUzI1NiJ9.e30.x")))
    }),
  )
})
