/** Use cases of webhook endpoints. */
import { Context, Effect, Layer, Redacted } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { OutboundHttp } from "../../../kernel/ports/OutboundHttp.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import type {
  CreateWebhookEndpointLimitReached,
  PauseWebhookEndpointDisabled,
  WebhookEndpointNotFound,
} from "../Errors.ts"
import { UpdateWebhookEndpoint } from "../Model.ts"
import type {
  CreateWebhookEndpoint,
  EndpointQuery,
  QueuedDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from "../Model.ts"
import { BacklogRemover } from "../queue/BacklogRemover.ts"
import { creation } from "./Creation.ts"
import { enabling } from "./Enabling.ts"
import { healthOf } from "./Health.ts"
import { lookup } from "./Lookup.ts"
import { pausing } from "./Pausing.ts"
import { EndpointsRepo } from "./Repo.ts"
import { canonicalUrl, validateEndpoint } from "./Rules.ts"
import { SigningSecrets } from "./SigningSecrets.ts"
import { testDelivery } from "./TestDelivery.ts"

/** Webhook endpoints of the caller's organization. */
export class WebhookEndpoints extends Context.Service<
  WebhookEndpoints,
  {
    /** Creates an enabled endpoint. Only this response and that of `rotateSecret` contain its secret. */
    readonly create: (
      input: CreateWebhookEndpoint,
    ) => Effect.Effect<WebhookEndpointWithSecret, ValidationFailed | CreateWebhookEndpointLimitReached, Caller>
    /** An endpoint without its secrets. */
    readonly get: (id: string, query: EndpointQuery) => Effect.Effect<WebhookEndpoint, WebhookEndpointNotFound, Caller>
    /** A page of the endpoints, newest first. */
    readonly list: (request: PageRequest & EndpointQuery) => Effect.Effect<Page<WebhookEndpoint>, InvalidCursor, Caller>
    /** Changes the properties that the body has. */
    readonly update: (
      id: string,
      input: UpdateWebhookEndpoint,
    ) => Effect.Effect<void, ValidationFailed | WebhookEndpointNotFound, Caller>
    /** Deletes an endpoint, and in the background its pending deliveries. */
    readonly delete: (id: string) => Effect.Effect<void, WebhookEndpointNotFound, Caller>
    /** Issues a new secret. The one before signs as well until it expires. */
    readonly rotateSecret: (id: string) => Effect.Effect<WebhookEndpointWithSecret, WebhookEndpointNotFound, Caller>
    /** Enables an endpoint, without the deliveries that waited while it was disabled. An enabled one stays as it is. */
    readonly enable: (id: string) => Effect.Effect<WebhookEndpoint, WebhookEndpointNotFound, Caller>
    /** Pauses an enabled endpoint: what is due waits. A paused one stays as it is. */
    readonly pause: (
      id: string,
    ) => Effect.Effect<WebhookEndpoint, WebhookEndpointNotFound | PauseWebhookEndpointDisabled, Caller>
    /** Resumes a paused endpoint, with what waited. Another one stays as it is. */
    readonly resume: (id: string) => Effect.Effect<WebhookEndpoint, WebhookEndpointNotFound, Caller>
    /** Queues the delivery of a test event. */
    readonly test: (id: string) => Effect.Effect<QueuedDelivery, WebhookEndpointNotFound, Caller>
  }
>()("keyshelf/webhooks/endpoints/WebhookEndpoints") {
  static readonly layer = Layer.suspend(() => Layer.effect(WebhookEndpoints, make))
}

/** The changes of an endpoint that exists. */
const changes = Effect.gen(function* () {
  const repo = yield* EndpointsRepo
  const secrets = yield* SigningSecrets
  const backlogs = yield* BacklogRemover
  const events = yield* Events
  const outbound = yield* OutboundHttp
  const { withLock } = yield* lookup

  const update = Effect.fn("Webhooks.update")(function* (id: string, input: UpdateWebhookEndpoint) {
    yield* failWithErrors(validateEndpoint(input, outbound.rejectionReason))
    yield* withLock(
      id,
      Effect.fnUntraced(function* (current, caller) {
        yield* requireUnchanged(UpdateWebhookEndpoint, current, input)
        const updated: WebhookEndpoint = {
          ...current,
          url: input.url === undefined ? current.url : canonicalUrl(input.url),
          eventNames: input.eventNames ?? current.eventNames,
          description: input.description === undefined ? current.description : input.description,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "WEBHOOK_ENDPOINT_UPDATED", current, updated)
      }),
    )
  })

  const remove = Effect.fn("Webhooks.delete")(function* (id: string) {
    const ended = yield* withLock(
      id,
      Effect.fnUntraced(function* (endpoint, caller) {
        const key = { organizationId: caller.organizationId, endpointId: endpoint.id }
        yield* repo.delete(caller.organizationId, endpoint.id)
        yield* backlogs.deleteBatch(key)
        yield* events.emit(caller, "WEBHOOK_ENDPOINT_DELETED", endpoint)
        return key
      }),
    )
    yield* backlogs.deleteInBackground(ended)
  })

  const rotateSecret = Effect.fn("Webhooks.rotateSecret")(function* (id: string) {
    return yield* withLock(
      id,
      Effect.fnUntraced(function* (current, caller) {
        const secret = yield* secrets.issue(caller.organizationId, current.id)
        const rotated: WebhookEndpoint = { ...current, updatedAt: yield* now, updatedBy: caller.actor }
        yield* repo.update(caller.organizationId, rotated)
        yield* events.emit(caller, "WEBHOOK_ENDPOINT_SECRET_ROTATED", rotated)
        return { ...rotated, secret: Redacted.value(secret) }
      }),
    )
  })

  return { update, delete: remove, rotateSecret }
})

const make = Effect.gen(function* () {
  const repo = yield* EndpointsRepo
  const cursors = yield* Cursors
  const { find } = yield* lookup
  const withHealth = yield* healthOf

  const get = Effect.fnUntraced(function* (id: string, { include }: EndpointQuery) {
    const { organizationId } = yield* Caller
    const found = yield* find(organizationId, id)
    if (include === undefined) return found
    const [endpoint = found] = yield* withHealth(organizationId, [found])
    return endpoint
  })

  const list = Effect.fn("Webhooks.list")(function* ({ include, ...request }: PageRequest & EndpointQuery) {
    const { organizationId } = yield* Caller
    const page = yield* cursors.page(
      { name: "webhooks", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
    return include === undefined ? page : { ...page, items: yield* withHealth(organizationId, page.items) }
  })

  return {
    create: yield* creation,
    get,
    list,
    ...(yield* changes),
    enable: yield* enabling,
    ...(yield* pausing),
    test: yield* testDelivery,
  }
})
