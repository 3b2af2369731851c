/** A local OIDC issuer for tests: signs arbitrary tokens, publishes its keys and rotates them. */
import { Effect, Option } from "effect"
import type { Scope } from "effect"
import { CompactSign, exportJWK, generateKeyPair, SignJWT } from "jose"
import type { CryptoKey, JWK, JWTHeaderParameters } from "jose"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import type { Provider } from "../../src/kernel/ports/IdentityProvider.ts"
import * as IdentityProvider from "../../src/infra/outbound/OpenIdKeys.ts"

export const AUDIENCE = "https://keyshelf.example"

export type Algorithm = "RS256" | "PS256" | "ES256" | "EdDSA"

/** A signing key, with its public key and JWK. */
export interface SigningKey {
  readonly kid: string
  readonly alg: Algorithm
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  readonly jwk: JWK
}

/** Generates a key for an algorithm. */
export const newKey = (alg: Algorithm, kid: string = randomUUID()): Effect.Effect<SigningKey> =>
  Effect.promise(async () => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
    return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } }
  })

/** Changes to a valid token. `undefined` removes a claim or header. */
export interface TokenChange {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
}

const omitUndefined = <A extends object>(properties: A): A =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as A

/** Signs a token that is valid for ten minutes, with the given changes. */
export const sign = (
  { alg, kid, privateKey }: Pick<SigningKey, "alg" | "kid" | "privateKey">,
  issuer: string,
  { claims = {}, header = {} }: TokenChange = {},
  at = Date.now(),
): Effect.Effect<string> =>
  Effect.promise(() => {
    const seconds = Math.floor(at / 1000)
    const payload = { iss: issuer, aud: AUDIENCE, sub: "anna", iat: seconds, exp: seconds + 600, ...claims }
    const protectedHeader = omitUndefined({ alg, kid, typ: "JWT", ...header }) as JWTHeaderParameters
    return new SignJWT(omitUndefined(payload)).setProtectedHeader(protectedHeader).sign(privateKey)
  })

/** Signs claims given as text, for JSON that no serializer writes, such as `{"exp":1e400}`. */
export const signText = (
  { alg, kid, privateKey }: Pick<SigningKey, "alg" | "kid" | "privateKey">,
  claims: string,
): Effect.Effect<string> =>
  Effect.promise(() =>
    new CompactSign(new TextEncoder().encode(claims)).setProtectedHeader({ alg, kid, typ: "JWT" }).sign(privateKey),
  )

/** Starts a local HTTP server. It closes, with its connections, when the scope closes. */
export const serve = (listener: RequestListener): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<ReturnType<typeof createServer>>((resolve) => {
            const server = createServer(listener)
            server.listen(0, "127.0.0.1", () => resolve(server))
          }),
      ),
      (server) =>
        Effect.promise(() => {
          server.closeAllConnections()
          return new Promise((resolve) => server.close(resolve))
        }),
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  )

/** A running issuer. */
export interface Issuer {
  readonly url: string
  /** Signs with the newest key. */
  readonly token: (change?: TokenChange) => Effect.Effect<string>
  /** Signs claims given as text with the newest key. */
  readonly tokenOfText: (claims: string) => Effect.Effect<string>
  /** Replaces the published key. */
  readonly rotate: Effect.Effect<void>
  /** The number of requests for the key set. */
  readonly fetches: () => number
  /** The configuration of the service for this issuer. */
  readonly provider: (settings?: Partial<Provider>) => Provider
}

/** Starts an issuer with one ES256 key. */
export const start: Effect.Effect<Issuer, never, Scope.Scope> = Effect.gen(function* () {
  let key = yield* newKey("ES256")
  let fetches = 0
  const url: string = yield* serve((request, response) => {
    response.setHeader("content-type", "application/json")
    if (request.url === "/.well-known/openid-configuration") {
      const endpoints = {
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        end_session_endpoint: `${url}/logout`,
      }
      response.end(JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, ...endpoints }))
    } else {
      fetches++
      response.end(JSON.stringify({ keys: [key.jwk] }))
    }
  })
  return {
    url,
    token: (change) => sign(key, url, change),
    tokenOfText: (claims) => signText(key, claims),
    rotate: Effect.map(newKey("ES256"), (next) => {
      key = next
    }),
    fetches: () => fetches,
    provider: (settings) => ({
      ...IdentityProvider.providerOf({
        issuer: url,
        audience: AUDIENCE,
        organizationClaim: "org_id",
        provisioning: "off",
        jwksUri: Option.none(),
      }),
      ...settings,
    }),
  }
})
