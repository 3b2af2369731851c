/** Other systems that the settings name: the identity provider, Redis. */
import { Config, Effect, Option, Schema } from "effect"
import { failed, ok, warning } from "./Report.ts"
import type { Check } from "./Report.ts"

const LIMIT_MS = 5_000

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
      const answer = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS), redirect: "error" })
      if (!answer.ok) throw new Error(`it answers ${answer.status}`)
      const body: unknown = await answer.json()
      return body
    },
    catch: whyOf,
  })

const Discovery = Schema.Struct({ issuer: Schema.String, jwks_uri: Schema.String })
const KeySet = Schema.Struct({ keys: Schema.Array(Schema.Struct({ kty: Schema.String })) })

const keySet = Effect.fnUntraced(function* (url: string) {
  const { keys } = yield* Effect.flatMap(getJson(url), (body) =>
    Effect.mapError(Schema.decodeUnknownEffect(KeySet)(body), () => "it is no key set"),
  )
  return keys.length === 0
    ? failed("identity", `The key set at ${url} holds no key: no token of the identity provider verifies.`)
    : ok("identity", `The identity provider's key set at ${url} holds ${keys.length} keys`)
})

/** Discovery and key set of the identity provider, as the service reads them. Nothing if none is set. */
export const identityProvider: Check = Effect.gen(function* () {
  const issuer = yield* value("SERVICE_OIDC_ISSUER")
  if (issuer === undefined) return []
  const given = yield* value("SERVICE_OIDC_JWKS_URI")
  if (given !== undefined) return [yield* keySet(given)]
  const document = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
  const discovery = yield* Effect.flatMap(
    Effect.mapError(getJson(document), (why) => `${document}: ${why}`),
    (body) =>
      Effect.mapError(Schema.decodeUnknownEffect(Discovery)(body), () => `${document} is no discovery document`),
  )
  if (discovery.issuer !== issuer) {
    return [
      failed(
        "identity",
        `SERVICE_OIDC_ISSUER is "${issuer}", but the provider calls itself "${discovery.issuer}": set exactly that, or every token is refused.`,
      ),
    ]
  }
  return [ok("identity", `${issuer} answers discovery`), yield* keySet(discovery.jwks_uri)]
}).pipe(
  Effect.catch((why) =>
    Effect.succeed([
      failed(
        "identity",
        `The identity provider cannot be asked (${why}). Correct SERVICE_OIDC_ISSUER, or the way to it.`,
      ),
    ]),
  ),
)

const ping = (url: string) =>
  Effect.tryPromise({
    try: async () => {
      // Loaded only where Redis is used: no other start of the command pays for it.
      const { createClient } = await import("redis")
      const client = createClient({ url, socket: { connectTimeout: LIMIT_MS, reconnectStrategy: false } })
      // Without a listener an error of the connection would end the process.
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

const placeOf = (url: string) => {
  const { hostname, port } = new URL(url)
  return `${hostname}:${port === "" ? "6379" : port}`
}

/** Whether Redis answers, if limits are kept there. Nothing if none is set. */
export const redis: Check = Effect.gen(function* () {
  const url = yield* value("SERVICE_REDIS_URL")
  if (url === undefined) return []
  if (!URL.canParse(url)) return [failed("redis", "SERVICE_REDIS_URL is no URL such as redis://host:6379.")]
  yield* ping(url)
  return [ok("redis", `Redis answers at ${placeOf(url)}`)]
}).pipe(
  Effect.catch((why) =>
    Effect.succeed([
      warning("redis", `Redis does not answer (${why}): correct SERVICE_REDIS_URL, or start it. Rate limits need it.`),
    ]),
  ),
)
