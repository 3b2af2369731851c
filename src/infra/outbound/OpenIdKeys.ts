/** Fetches the identity provider's keys from the configured URL, or through the discovery document. */
import { Effect, Layer, Option, Schema } from "effect"
import { IdentityProvider, KeysUnavailable } from "../../kernel/ports/IdentityProvider.ts"
import type { Provider } from "../../kernel/ports/IdentityProvider.ts"
import type { OutboundHttp } from "../../kernel/ports/OutboundHttp.ts"
import { make } from "./OutboundHttp.ts"
import { isTrustedUrl } from "../SettingFormats.ts"
import { Settings } from "../Settings.ts"

const TIMEOUT_MS = 5000
const MAX_BYTES = 256 * 1024

const Discovery = Schema.Struct({ issuer: Schema.String, jwks_uri: Schema.String })
const KeySet = Schema.Struct({ keys: Schema.mutable(Schema.Array(Schema.Record(Schema.String, Schema.Unknown))) })

/** The configured provider. */
export interface ProviderSettings extends Omit<Provider, "fetchKeys"> {
  /** URL of the key set. If absent, the discovery document names it. */
  readonly jwksUri: Option.Option<string>
}

const unavailable = (message: string) => Effect.fail(new KeysUnavailable({ message }))

// Address and port are free, because the operator configured them. Redirects are not followed.
const documentAt = Effect.fnUntraced(function* <A, I>(
  http: OutboundHttp["Service"],
  url: string,
  schema: Schema.Codec<A, I>,
) {
  if (!isTrustedUrl(url)) {
    return yield* unavailable(`${url} is neither an https URL nor an http URL on this machine`)
  }
  const response = yield* http
    .send({
      method: "GET",
      url,
      headers: { accept: "application/json" },
      timeoutMillis: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    })
    .pipe(Effect.catch(({ message }) => unavailable(`${url}: ${message}`)))
  if (response.status !== 200) return yield* unavailable(`${url} returned status ${response.status}`)
  return yield* Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(response.body).pipe(
    Effect.catch(() => unavailable(`${url} returned an unexpected document`)),
  )
})

/** Creates the provider for these settings. */
export const providerOf = ({ jwksUri, ...settings }: ProviderSettings): Provider => {
  const http = make({ allowInsecure: true, allowAllPorts: true, allowedNetworks: [] })
  const discovered = Effect.gen(function* () {
    const url = `${settings.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
    const { issuer, jwks_uri } = yield* documentAt(http, url, Discovery)
    // Otherwise the keys of another issuer would be accepted for this one.
    if (issuer !== settings.issuer) {
      return yield* unavailable(`${url} names the issuer "${issuer}", but SERVICE_OIDC_ISSUER is "${settings.issuer}"`)
    }
    return jwks_uri
  })
  const address = Option.match(jwksUri, { onNone: () => discovered, onSome: Effect.succeed })
  return { ...settings, fetchKeys: Effect.flatMap(address, (url) => documentAt(http, url, KeySet)) }
}

/** {@link IdentityProvider} from the `SERVICE_OIDC_*` settings; none if they are absent. */
export const layer = Layer.effect(
  IdentityProvider,
  Effect.map(Settings, ({ identityProvider }) => Option.map(identityProvider, providerOf)),
)
