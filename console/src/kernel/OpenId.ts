/**
 * Sign-in with the OpenID provider: authorization code with PKCE, as a public client. The library is loaded when it is needed.
 * The browser asks the provider's token endpoint alone; everything else of the discovery comes with the configuration.
 */
import type { OpenIdConfig } from "./Config.ts"

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly idToken: string | undefined
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

interface Pending {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
}

const PENDING = "keyshelf.pending"
const DEFAULT_LIFETIME_SECONDS = 300

const library = () => import("oauth4webapi")

const redirectUri = () => new URL(`${import.meta.env.BASE_URL}signed-in`, location.origin).href

// Those that the service accepts for access tokens. `none` is none of them.
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"]

const serverOf = (oidc: OpenIdConfig) => ({
  issuer: oidc.issuer,
  authorization_endpoint: oidc.authorizationEndpoint,
  token_endpoint: oidc.tokenEndpoint,
  id_token_signing_alg_values_supported: ALGORITHMS,
})

const clientOf = ({ clientId }: OpenIdConfig) => ({ client_id: clientId })

/** Only a provider on this machine may be asked without TLS. */
const requestOptions = (oidc: OpenIdConfig, allowInsecure: symbol) => {
  const { hostname, protocol } = new URL(oidc.tokenEndpoint)
  const isLocal = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"
  return protocol === "http:" && isLocal ? { [allowInsecure]: true } : {}
}

interface TokenResponse {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
  readonly expires_in?: number
}

const tokensOf = (response: TokenResponse): Tokens => ({
  accessToken: response.access_token,
  refreshToken: response.refresh_token,
  idToken: response.id_token,
  expiresAt: Date.now() + (response.expires_in ?? DEFAULT_LIFETIME_SECONDS) * 1000,
})

/** Sends the browser to the provider. `returnTo` is the page to show afterwards. */
export const begin = async (oidc: OpenIdConfig, returnTo: string): Promise<void> => {
  const oauth = await library()
  const pending: Pending = {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
    returnTo,
  }
  sessionStorage.setItem(PENDING, JSON.stringify(pending))
  const url = new URL(oidc.authorizationEndpoint)
  const parameters = {
    ...oidc.parameters,
    client_id: oidc.clientId,
    redirect_uri: redirectUri(),
    response_type: "code",
    scope: oidc.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  location.assign(url)
}

/** Longer texts of a provider are cut. */
const MAX_DESCRIPTION = 500

/** The provider did not sign the person in. The texts are the provider's, so they are shown as text and never followed. */
export class SignInRefused extends Error {
  /** The provider's code, such as `access_denied`. */
  readonly code: string
  readonly description: string | undefined

  constructor(code: string, description: string | undefined) {
    super(description ?? code)
    this.code = code
    this.description = description?.slice(0, MAX_DESCRIPTION)
  }
}

/** The sign-in that this tab started, once: what it left in the storage is removed. */
export const takePending = (): Pending => {
  const stored = sessionStorage.getItem(PENDING)
  sessionStorage.removeItem(PENDING)
  if (stored === null) throw new Error("This tab did not start a sign-in.")
  return JSON.parse(stored)
}

/** Exchanges the code of the redirect for tokens. Only an answer with the state of the sign-in is believed, also if it is an error. */
export const finish = async (oidc: OpenIdConfig, url: URL, pending: Pending): Promise<Tokens> => {
  const oauth = await library()
  try {
    return await exchange(oauth, oidc, url, pending)
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
      throw new SignInRefused(error.error, error.error_description)
    }
    throw error
  }
}

const exchange = async (
  oauth: Awaited<ReturnType<typeof library>>,
  oidc: OpenIdConfig,
  url: URL,
  { nonce, state, verifier }: Pending,
): Promise<Tokens> => {
  const [server, client] = [serverOf(oidc), clientOf(oidc)]
  const options = requestOptions(oidc, oauth.allowInsecureRequests)
  const parameters = oauth.validateAuthResponse(server, client, url, state)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri(),
    verifier,
    options,
  )
  const expected = oidc.scope.split(" ").includes("openid") ? { expectedNonce: nonce, requireIdToken: true } : {}
  const result = await oauth.processAuthorizationCodeResponse(server, client, response, expected)
  return tokensOf(result)
}

/** Exchanges the refresh token for new tokens. */
export const refresh = async (oidc: OpenIdConfig, refreshToken: string): Promise<Tokens> => {
  const oauth = await library()
  const [server, client] = [serverOf(oidc), clientOf(oidc)]
  const options = requestOptions(oidc, oauth.allowInsecureRequests)
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, options)
  return tokensOf(await oauth.processRefreshTokenResponse(server, client, response))
}

/** Sends the browser to the provider's page for signing out. */
export const endSession = (endpoint: string, clientId: string, idToken: string | undefined): void => {
  const url = new URL(endpoint)
  url.searchParams.set("client_id", clientId)
  if (idToken !== undefined) url.searchParams.set("id_token_hint", idToken)
  url.searchParams.set("post_logout_redirect_uri", new URL(import.meta.env.BASE_URL, location.origin).href)
  location.assign(url)
}
