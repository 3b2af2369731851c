/** Checks the external systems of the settings: the identity provider and Redis. */
import { Config, Effect, Option, Schema } from "effect"
import { isTrustedUrl } from "../../infra/SettingFormats.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check } from "./Report.ts"

const TIMEOUT_MS = 5_000

const value = (name: string) =>
  Config.option(Config.String(name)).pipe(
    Effect.map(Option.filter((text) => text.trim() !== "")),
    Effect.map(Option.getOrUndefined),
    Effect.orElseSucceed(() => undefined),
  )

const whyOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const inner = error.cause instanceof Error ? error.cause : error
  return inner.message === "" && "code" in inner ? String(inner.code) : inner.message
}

const getJson = (url: string) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "error" })
      if (!response.ok) throw new Error(`the response is ${response.status}`)
      const body: unknown = await response.json()
      return body
    },
    catch: whyOf,
  })

const Discovery = Schema.Struct({
  issuer: Schema.String,
  jwks_uri: Schema.String,
  authorization_endpoint: Schema.optionalKey(Schema.String),
  token_endpoint: Schema.optionalKey(Schema.String),
})
const KeySet = Schema.Struct({ keys: Schema.Array(Schema.Struct({ kty: Schema.String })) })

const keySet = Effect.fnUntraced(function* (url: string) {
  const { keys } = yield* Effect.flatMap(getJson(url), (body) =>
    Effect.mapError(Schema.decodeUnknownEffect(KeySet)(body), () => `${url} is not a key set`),
  )
  return keys.length === 0
    ? failed("identity", `The key set at ${url} is empty: no token of the identity provider verifies.`)
    : ok("identity", `The identity provider's key set at ${url} has ${keys.length} keys`)
})

/** Checks that browsers can sign in to the console. Skipped if it has no client. */
const consoleSignIn = (clientId: string | undefined, discovery: typeof Discovery.Type) => {
  if (clientId === undefined) return []
  const endpoints = [discovery.authorization_endpoint, discovery.token_endpoint]
  return endpoints.every((url) => url !== undefined && isTrustedUrl(url))
    ? [ok("identity", `People can sign in to the console with the client ${clientId}`)]
    : [
        warning(
          "identity",
          "The discovery document has no authorization_endpoint and token_endpoint with an https URL: people cannot sign in to the console with SERVICE_OIDC_CLIENT_ID.",
        ),
      ]
}

/**
 * Checks the discovery document and the key set of the identity provider, as the service reads them. Skipped if none is
 * set.
 */
export const identityProvider: Check = Effect.gen(function* () {
  const issuer = yield* value("SERVICE_OIDC_ISSUER")
  if (issuer === undefined) return []
  const jwksUri = yield* value("SERVICE_OIDC_JWKS_URI")
  const clientId = yield* value("SERVICE_OIDC_CLIENT_ID")
  // The console needs the discovery document even if the keys do not.
  if (jwksUri !== undefined && clientId === undefined) return [yield* keySet(jwksUri)]
  const document = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
  const discovery = yield* Effect.flatMap(
    Effect.mapError(getJson(document), (why) => `${document}: ${why}`),
    (body) =>
      Effect.mapError(Schema.decodeUnknownEffect(Discovery)(body), () => `${document} is not a discovery document`),
  )
  if (discovery.issuer !== issuer) {
    return [
      failed(
        "identity",
        `SERVICE_OIDC_ISSUER is "${issuer}", but the provider's issuer is "${discovery.issuer}". Set exactly that; otherwise every token is rejected.`,
      ),
    ]
  }
  return [
    ok("identity", `${issuer} has a discovery document`),
    yield* keySet(jwksUri ?? discovery.jwks_uri),
    ...consoleSignIn(clientId, discovery),
  ]
}).pipe(
  Effect.catch((why) =>
    Effect.succeed([
      failed(
        "identity",
        `The identity provider cannot be reached (${why}). Correct SERVICE_OIDC_ISSUER, or the network path to it.`,
      ),
    ]),
  ),
)

const ping = (url: string) =>
  Effect.tryPromise({
    try: async () => {
      // Imported only if Redis is used, so that other runs do not pay for it.
      const { createClient } = await import("redis")
      const client = createClient({ url, socket: { connectTimeout: TIMEOUT_MS, reconnectStrategy: false } })
      // Without a listener, a connection error would end the process.
      client.on("error", () => undefined)
      try {
        await client.connect()
        return await client.ping()
      } finally {
        if (client.isOpen) client.destroy()
      }
    },
    catch: whyOf,
  })

const addressOf = (url: string) => {
  const { hostname, port } = new URL(url)
  return `${hostname}:${port === "" ? "6379" : port}`
}

/** Checks that Redis responds, if rate limits are stored there. Skipped if none is set. */
export const redis: Check = Effect.gen(function* () {
  const url = yield* value("SERVICE_REDIS_URL")
  if (url === undefined) return []
  if (!URL.canParse(url)) return [failed("redis", "SERVICE_REDIS_URL is not a URL such as redis://host:6379.")]
  yield* ping(url)
  return [ok("redis", `Redis responds at ${addressOf(url)}`)]
}).pipe(
  Effect.catch((why) =>
    Effect.succeed([
      warning(
        "redis",
        `Redis does not respond (${why}). Correct SERVICE_REDIS_URL, or start Redis: rate limits need it.`,
      ),
    ]),
  ),
)
