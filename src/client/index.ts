/**
 * `keyshelf/client`: typed clients made from the same definitions that the service runs on. Every answer and every problem
 * is decoded; a problem is an error class that `Effect.catchTag` finds by its code. No server code, no Node.js module.
 */
import { Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { CoreApi } from "../api/CoreApi.ts"
import { PlatformApi } from "../api/PlatformApi.ts"
import { WebhookApi } from "../api/WebhookApi.ts"
import { retrying } from "./Retry.ts"

export { CoreApi, PlatformApi, WebhookApi }
export * from "./Errors.ts"
export { retryAdvice, retrying } from "./Retry.ts"
export type { RetryAdvice } from "./Retry.ts"

/** Where a listener answers, and with which credential it is called. */
export interface ClientOptions {
  /** Of the listener, without `/api`: `https://keyshelf.example` */
  readonly baseUrl: string | URL
  /** A `ksh_` token or an identity provider's token for the Core and webhook APIs, a `ksm_` credential for the Platform API. */
  readonly token: Redacted.Redacted
  /** How often a request is sent again that may succeed later, see {@link retrying}. 2 if absent. */
  readonly retries?: number
}

const DEFAULT_RETRIES = 2

const transport = ({ baseUrl, retries, token }: ClientOptions) => ({
  baseUrl,
  transformClient: (client: HttpClient.HttpClient) =>
    retrying(retries ?? DEFAULT_RETRIES)(
      HttpClient.mapRequest(client, HttpClientRequest.bearerToken(Redacted.value(token))),
    ),
})

/** A client of the Core API: `core.check.check({ params, headers, payload })`. Needs an `HttpClient`, e.g. `FetchHttpClient.layer`. */
export const makeCoreClient = (options: ClientOptions) => HttpApiClient.make(CoreApi, transport(options))

/** A client of the Platform API, for operators. */
export const makePlatformClient = (options: ClientOptions) => HttpApiClient.make(PlatformApi, transport(options))

/** A client of the webhook API. */
export const makeWebhookClient = (options: ClientOptions) => HttpApiClient.make(WebhookApi, transport(options))

/** The methods of a Core client, for signatures. */
export type CoreClient = HttpApiClient.ForApi<typeof CoreApi>

/** The methods of a Platform client. */
export type PlatformClient = HttpApiClient.ForApi<typeof PlatformApi>

/**
 * Headers that make a POST safe to send again for 24 hours: under a key of the caller's own, such as a job's id, else
 * under a new one. Without a key of its own a POST is not sent again after a broken connection.
 */
export const idempotent = (key: string = globalThis.crypto.randomUUID()) => ({ "idempotency-key": key })
