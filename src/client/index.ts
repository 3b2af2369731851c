/**
 * `@keyshelf/client/effect`: typed clients, derived from the API definitions that the service itself uses. Every response
 * and every problem is decoded; a problem is an error class that `Effect.catchTag` matches by its code. The client
 * contains no server code and no Node.js module.
 */
import { Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { CoreApi } from "../api/CoreApi.ts"
import { PlatformApi } from "../api/PlatformApi.ts"
import { WebhookApi } from "../api/WebhookApi.ts"
import { withOptionalParts } from "./OptionalParts.ts"
import type { ClientOf } from "./OptionalParts.ts"
import { retrying } from "./Retry.ts"
import { Settings } from "../../clients/typescript/src/Settings.ts"

export { CoreApi, PlatformApi, WebhookApi }
export * from "./Errors.ts"
export { ConfigurationError } from "../../clients/typescript/src/Errors.ts"
export { retryAdvice, retrying } from "./Retry.ts"
export type { RetryAdvice } from "./Retry.ts"

/** The address of a listener, and the credential for it. */
export interface ClientOptions {
  /** The listener's absolute URL: `https://keyshelf.example`. An `/api` at its end is left out. */
  readonly baseUrl: string | URL
  /**
   * A `ksh_` token or an identity provider's token for the Core and webhook APIs, a `ksm_` credential for the Platform
   * API. White space around it is left out.
   */
  readonly token: Redacted.Redacted
  /** The maximum number of retries, see {@link retrying}. Default: 2. */
  readonly retries?: number
}

const DEFAULT_RETRIES = 2

const make = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  options: ClientOptions,
) =>
  Effect.suspend(() => {
    const token = Redacted.isRedacted(options.token) ? Redacted.value(options.token) : ""
    const settings = new Settings({ retries: DEFAULT_RETRIES, ...options, token })
    const authorized = (request: HttpClientRequest.HttpClientRequest) =>
      Effect.promise(async () => HttpClientRequest.bearerToken(request, await settings.credential()))
    return HttpApiClient.make(api, {
      baseUrl: settings.base,
      transformClient: (client: HttpClient.HttpClient) =>
        retrying(settings.retries)(HttpClient.mapRequestEffect(client, authorized)),
    })
  }).pipe(Effect.map((client) => withOptionalParts<Groups>(client as object)))

/**
 * Creates a client of the Core API: `core.check.check({ params, payload })`. It needs an `HttpClient`, such as
 * `FetchHttpClient.layer`. Settings that can never work are a defect, a `ConfigurationError`.
 */
export const makeCoreClient = (options: ClientOptions) => make(CoreApi, options)

/** Creates a client of the Platform API, for operators. */
export const makePlatformClient = (options: ClientOptions) => make(PlatformApi, options)

/** Creates a client of the webhook API. */
export const makeWebhookClient = (options: ClientOptions) => make(WebhookApi, options)

type GroupsOf<Api> = Api extends HttpApi.HttpApi<infer _Id, infer Groups> ? Groups : never

/** The type of a Core API client. */
export type CoreClient = ClientOf<GroupsOf<typeof CoreApi>>

/** The type of a Platform API client. */
export type PlatformClient = ClientOf<GroupsOf<typeof PlatformApi>>

/**
 * Headers that make a POST safe to retry for 24 hours. Pass your own key, such as a job's id, or a random key is used.
 * A POST without a key is not retried after a broken connection.
 */
export const idempotent = (key: string = globalThis.crypto.randomUUID()) => ({ "idempotency-key": key })
