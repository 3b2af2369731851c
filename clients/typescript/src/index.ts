/** `@keyshelf/client`: typed clients of Keyshelf on `fetch`, for Node.js, browsers and every other runtime that has it. */
import { makeClient } from "./Client.ts"
import type { ClientOf, ClientOptions, ProblemOf } from "./Client.ts"
import * as core from "./generated/core.ts"
import * as platform from "./generated/platform.ts"
import * as webhooks from "./generated/webhooks.ts"

export type { CallOptions, ClientOptions } from "./Client.ts"
export { ConfigurationError, ConnectionError, isProblem, isServiceAway, ProblemError } from "./Errors.ts"
export type { Problem, ValidationError } from "./Errors.ts"
export { paginate } from "./Pages.ts"

// The document also describes what the service sends, which is not an operation of a client.
type WebhookOperations = Pick<webhooks.operations, keyof typeof webhooks.table>

/** A client of the Core API: a method for each operation, named by its id. */
export type CoreClient = ClientOf<core.operations>
/** A client of the Platform API. */
export type PlatformClient = ClientOf<platform.operations>
/** A client of the webhook API. */
export type WebhookClient = ClientOf<WebhookOperations>

/** Records and bodies of the Core API by name: `Core["Customer"]`. */
export type Core = core.components["schemas"]
/** Records and bodies of the Platform API by name. */
export type Platform = platform.components["schemas"]
/** Records and bodies of the webhook API by name, with the payload of each event: `Webhooks["CustomerCreationEvent"]`. */
export type Webhooks = webhooks.components["schemas"]

/** The payload of a delivery to a webhook endpoint. `type` names the event. */
export type WebhookEvent = {
  readonly [
    Name in keyof webhooks.webhooks
  ]: webhooks.webhooks[Name]["post"]["requestBody"]["content"]["application/json"]
}[keyof webhooks.webhooks]

/** The problems that an operation of the Core API can return: `CoreProblem<"getCustomer">`. */
export type CoreProblem<Name extends keyof core.operations> = ProblemOf<core.operations[Name]>

/** Creates a client of the Core API, for products, sales tools and pipelines. */
export const createClient = (options: ClientOptions): CoreClient => makeClient<core.operations>(core.table, options)

/** Creates a client of the Platform API, for operators. */
export const createPlatformClient = (options: ClientOptions): PlatformClient =>
  makeClient<platform.operations>(platform.table, options)

/** Creates a client of the webhook API. The core listener serves it, unless `SERVICE_WEBHOOKS_PORT` is set. */
export const createWebhookClient = (options: ClientOptions): WebhookClient =>
  makeClient<WebhookOperations>(webhooks.table, options)
