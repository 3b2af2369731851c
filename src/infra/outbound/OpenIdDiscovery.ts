/**
 * Reads the identity provider's discovery document (OpenID Connect Discovery 1.0): where its keys are, and where browsers
 * sign people in.
 */
import { Clock, Duration, Effect, Option, Schema, Semaphore } from "effect"
import { KeysUnavailable } from "../../kernel/ports/IdentityProvider.ts"
import type { SignInEndpoints } from "../../kernel/ports/IdentityProvider.ts"
import { make } from "./OutboundHttp.ts"
import { isTrustedUrl } from "../SettingFormats.ts"

const TIMEOUT_MS = 5000
const MAX_BYTES = 256 * 1024

/** A document older than this is fetched again. */
const FRESH_MS = Duration.toMillis("10 minutes")
/** Minimum time between two fetches for a browser: anyone may request the console's configuration. */
const PAUSE_MS = Duration.toMillis("30 seconds")

const Document = Schema.Struct({
  issuer: Schema.String,
  jwks_uri: Schema.String,
  authorization_endpoint: Schema.optionalKey(Schema.String),
  token_endpoint: Schema.optionalKey(Schema.String),
  end_session_endpoint: Schema.optionalKey(Schema.String),
})
type Document = typeof Document.Type

const unavailable = (message: string) => Effect.fail(new KeysUnavailable({ message }))

/** Fetches a JSON document of the provider. Redirects are not followed. */
type FetchDocument = <A, I>(url: string, schema: Schema.Codec<A, I>) => Effect.Effect<A, KeysUnavailable>

/** Creates a {@link FetchDocument}. Address and port are free, because the operator configured them. */
export const documents = (): FetchDocument => {
  const http = make({ allowInsecure: true, allowAllPorts: true, allowedNetworks: [] })
  return Effect.fnUntraced(function* <A, I>(url: string, schema: Schema.Codec<A, I>) {
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
}

/** The discovery document of a provider. Both readers share the last one that was fetched. */
interface Discovery {
  /** Fetches the document and returns the URL of the key set. */
  readonly jwksUri: Effect.Effect<string, KeysUnavailable>
  /** The endpoints for browsers. Waits for a fetch only if there is no document yet. */
  readonly endpoints: Effect.Effect<Option.Option<SignInEndpoints>>
}

// Browsers are sent to these addresses, with the authorization code, so that they must be as trusted as the issuer.
const endpointsOf = ({
  authorization_endpoint: authorizationEndpoint,
  end_session_endpoint: endSessionEndpoint,
  token_endpoint: tokenEndpoint,
}: Document): Option.Option<SignInEndpoints> => {
  if (authorizationEndpoint === undefined || tokenEndpoint === undefined) return Option.none()
  if (![authorizationEndpoint, tokenEndpoint].every(isTrustedUrl)) return Option.none()
  return Option.some({
    authorizationEndpoint,
    tokenEndpoint,
    endSessionEndpoint:
      endSessionEndpoint !== undefined && isTrustedUrl(endSessionEndpoint) ? endSessionEndpoint : null,
  })
}

/** Creates the discovery of an issuer. */
export const discoveryOf = (issuer: string, fetchDocument: FetchDocument): Discovery => {
  const oneAtATime = Semaphore.makeUnsafe(1)
  let known: { readonly document: Document; readonly fetchedAt: number } | undefined
  let attemptedAt = -Infinity
  let isReported = false

  const fetch = Effect.gen(function* () {
    const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
    const document = yield* fetchDocument(url, Document)
    // Otherwise the keys of another issuer would be accepted for this one.
    if (document.issuer !== issuer) {
      return yield* unavailable(`${url} names the issuer "${document.issuer}", but SERVICE_OIDC_ISSUER is "${issuer}"`)
    }
    known = { document, fetchedAt: yield* Clock.currentTimeMillis }
    return document
  })

  const isDue = (at: number) => at - attemptedAt >= PAUSE_MS && (known === undefined || at - known.fetchedAt > FRESH_MS)

  // Checks again once the permit is acquired: the fiber before may already have fetched the document.
  const refresh = Effect.flatMap(Clock.currentTimeMillis, (at) => {
    if (!isDue(at)) return Effect.void
    attemptedAt = at
    return Effect.catch(Effect.asVoid(fetch), ({ message }) =>
      Effect.logWarning(`Reading the identity provider's discovery document for the console failed: ${message}.`),
    )
  }).pipe(oneAtATime.withPermits(1))

  const endpoints = Effect.gen(function* () {
    // Only the first request waits. Later ones use the known document: endpoints rarely change.
    if (known === undefined) yield* refresh
    else if (isDue(yield* Clock.currentTimeMillis)) yield* Effect.forkDetach(refresh)
    const found = known === undefined ? Option.none() : endpointsOf(known.document)
    if (known !== undefined && Option.isNone(found) && !isReported) {
      isReported = true
      yield* Effect.logWarning(
        "The discovery document of the identity provider has no authorization_endpoint and token_endpoint with an https URL, so people cannot sign in to the console.",
      )
    }
    return found
  })

  return { jwksUri: Effect.map(fetch, ({ jwks_uri }) => jwks_uri), endpoints }
}
