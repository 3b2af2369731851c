/** A real OpenID provider with the console as its public client: refresh tokens that rotate, logout, and CORS for one origin. */
import { Effect } from "effect"
import { generateKeyPairSync, randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { JWK } from "jose"
import * as OidcProvider from "oidc-provider"
import { AUDIENCE, serve } from "../support/Issuer.ts"

export const CLIENT_ID = "console"

/** The claim that names the organization. */
export const CLAIM = "tenant"

const signingKey = (): JWK => ({
  ...(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }) as JWK),
  kid: randomUUID(),
  alg: "ES256",
  use: "sig",
})

/** The login of a person without an organization. */
export const STRANGER = "stranger"

/** The login of a person of an organization. */
export const loginOf = (organizationId: string): string => `anna@${organizationId}`

const organizationOf = (login: string): string => login.slice(login.indexOf("@") + 1)

/** Starts the provider for a console at an origin. Logins name the organization of a person. */
export const startProvider = Effect.fnUntraced(function* (origin: string) {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined
  const url = yield* serve((request, response) => void handle(request, response))
  const provider = new OidcProvider.Provider(url, {
    clients: [
      {
        client_id: CLIENT_ID,
        token_endpoint_auth_method: "none",
        redirect_uris: [`${origin}/console/signed-in`],
        post_logout_redirect_uris: [`${origin}/console/`],
        response_types: ["code"],
        grant_types: ["authorization_code", "refresh_token"],
        id_token_signed_response_alg: "ES256",
      },
    ],
    clientBasedCORS: (_context, caller) => caller === origin,
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [signingKey()] },
    issueRefreshToken: () => Promise.resolve(true),
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "",
          audience: AUDIENCE,
          accessTokenFormat: "jwt",
          accessTokenTTL: 600,
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
    extraTokenClaims: (_context, token) =>
      "accountId" in token && token.accountId !== STRANGER
        ? { [CLAIM]: organizationOf(token.accountId), name: "Anna Kowalska" }
        : { name: "Stranger" },
  })
  handle = provider.callback()
  return { url }
})
