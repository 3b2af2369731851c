/** Creates webhook endpoints. */
import { Effect, Redacted } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { OutboundHttp } from "../../../kernel/ports/OutboundHttp.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { CreateWebhookEndpointLimitReached } from "../Errors.ts"
import type { CreateWebhookEndpoint, WebhookEndpoint } from "../Model.ts"
import { EndpointsRepo } from "./Repo.ts"
import { canonicalUrl, MAX_ENDPOINTS, validateEndpoint } from "./Rules.ts"
import { SigningSecrets } from "./SigningSecrets.ts"

export const creation = Effect.gen(function* () {
  const repo = yield* EndpointsRepo
  const secrets = yield* SigningSecrets
  const events = yield* Events
  const outbound = yield* OutboundHttp
  const transactions = yield* Transactions

  return Effect.fn("Webhooks.create")(function* (input: CreateWebhookEndpoint) {
    const caller = yield* Caller
    yield* failWithErrors(validateEndpoint(input, outbound.rejectionReason))
    return yield* transactions.run(
      Effect.gen(function* () {
        if ((yield* repo.lockAndCount(caller.organizationId)) >= MAX_ENDPOINTS) {
          return yield* new CreateWebhookEndpointLimitReached({
            detail: `An organization can have up to ${MAX_ENDPOINTS} webhook endpoints. Delete one first.`,
          })
        }
        const at = yield* now
        const endpoint: WebhookEndpoint = {
          id: yield* newId,
          url: canonicalUrl(input.url),
          eventNames: input.eventNames,
          description: input.description ?? null,
          disabledAt: null,
          disabledReason: null,
          pausedAt: null,
          failingSince: null,
          createdAt: at,
          updatedAt: at,
          createdBy: caller.actor,
          updatedBy: caller.actor,
        }
        yield* repo.insert(caller.organizationId, endpoint)
        const secret = yield* secrets.issue(caller.organizationId, endpoint.id)
        yield* events.emit(caller, "WEBHOOK_ENDPOINT_CREATED", endpoint)
        return { ...endpoint, secret: Redacted.value(secret) }
      }),
    )
  })
})
