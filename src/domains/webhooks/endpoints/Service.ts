/** Use cases of webhook endpoints. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Events } from "../../events/Service.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { OutboundHttp } from "../../../kernel/ports/OutboundHttp.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { PageRequest } from "../../../kernel/contract/Page.ts"
import { noSuch, failWithErrors } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import { CreateWebhookEndpointLimitReached, WebhookEndpointNotFound } from "../Errors.ts"
import { UpdateWebhookEndpoint } from "../Model.ts"
import type { CreateWebhookEndpoint, QueuedDelivery, WebhookEndpoint } from "../Model.ts"
import { BacklogRemover } from "../queue/BacklogRemover.ts"
import { WebhookQueue } from "../queue/Queue.ts"
import { EndpointsRepo } from "./Repo.ts"
import { canonicalUrl, validateEndpoint, MAX_ENDPOINTS } from "./Rules.ts"
import { TEST_EVENT } from "../Model.ts"
import { SigningSecrets } from "./SigningSecrets.ts"
import type { ValidationFailed, InvalidCursor } from "../../../kernel/contract/Problem.ts"
import type { WebhookEndpointWithSecret } from "../Model.ts"
import type { Page } from "../../../kernel/contract/Page.ts"

const notFound = (id: string) => new WebhookEndpointNotFound({ detail: noSuch("webhook endpoint", id) })

/** Webhook endpoints of the caller's organization. */
export class WebhookEndpoints extends Context.Service<
  WebhookEndpoints,
  {
    /** ??? */
    readonly create: (
      input: CreateWebhookEndpoint,
    ) => Effect.Effect<WebhookEndpointWithSecret, ValidationFailed | CreateWebhookEndpointLimitReached, Caller>
    /** ??? */
    readonly get: (id: string) => Effect.Effect<WebhookEndpoint, WebhookEndpointNotFound, Caller>
    /** ??? */
    readonly list: (request: PageRequest) => Effect.Effect<Page<WebhookEndpoint>, InvalidCursor, Caller>
    /** ??? */
    readonly update: (
      id: string,
      input: UpdateWebhookEndpoint,
    ) => Effect.Effect<void, ValidationFailed | WebhookEndpointNotFound, Caller>
    /** ??? */
    readonly delete: (id: string) => Effect.Effect<void, WebhookEndpointNotFound, Caller>
    /** ??? */
    readonly rotateSecret: (id: string) => Effect.Effect<WebhookEndpointWithSecret, WebhookEndpointNotFound, Caller>
    /** ??? */
    readonly enable: (id: string) => Effect.Effect<WebhookEndpoint, WebhookEndpointNotFound, Caller>
    /** ??? */
    readonly test: (id: string) => Effect.Effect<QueuedDelivery, WebhookEndpointNotFound, Caller>
  }
>()("keyshelf/webhooks/endpoints/WebhookEndpoints") {
  static readonly layer = Layer.effect(
    WebhookEndpoints,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* EndpointsRepo
  const secrets = yield* SigningSecrets
  const backlogs = yield* BacklogRemover
  const queue = yield* WebhookQueue
  const events = yield* Events
  const outbound = yield* OutboundHttp
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const create = Effect.fn("Webhooks.create")(function* (input: CreateWebhookEndpoint) {
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

  const get = Effect.fnUntraced(function* (id: string) {
    const { organizationId } = yield* Caller
    const endpoint = yield* repo.findById(organizationId, id)
    return Option.isSome(endpoint) ? endpoint.value : yield* notFound(id)
  })

  const list = Effect.fn("Webhooks.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    return yield* cursors.page(
      { name: "webhooks", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
  })

  /** Runs a change of an endpoint in a transaction that has locked its row. */
  const withLock = Effect.fnUntraced(function* <A, E>(
    id: string,
    change: (current: WebhookEndpoint, caller: Caller["Service"]) => Effect.Effect<A, E, Transaction>,
  ) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* repo.lockById(caller.organizationId, id)
        return Option.isSome(current) ? yield* change(current.value, caller) : yield* notFound(id)
      }),
    )
  })

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

  const enable = Effect.fn("Webhooks.enable")(function* (id: string) {
    // The backlog of the time when it was disabled must not be delivered, so all of it is deleted first.
    const { organizationId } = yield* Caller
    const key = { organizationId, endpointId: id }
    const tryEnable = withLock(
      id,
      Effect.fnUntraced(function* (current, caller) {
        if (current.disabledAt === null) return current
        if (yield* backlogs.hasBacklog(key)) return undefined
        const enabled: WebhookEndpoint = {
          ...current,
          disabledAt: null,
          disabledReason: null,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.enable(caller.organizationId, enabled)
        yield* events.emit(caller, "WEBHOOK_ENDPOINT_ENABLED", enabled)
        return enabled
      }),
    )
    for (;;) {
      const enabled = yield* tryEnable
      if (enabled !== undefined) return enabled
      yield* backlogs.deleteAll(key)
    }
  })

  const test = Effect.fn("Webhooks.test")(function* (id: string) {
    const caller = yield* Caller
    const { organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const endpoint = yield* repo.lockForShare(organizationId, id)
        if (Option.isNone(endpoint)) return yield* notFound(id)
        const event = yield* events.record(caller, TEST_EVENT, endpoint.value)
        const deliveryId = yield* queue.enqueue({
          organizationId,
          endpointId: endpoint.value.id,
          eventId: event.id,
          eventName: event.type,
          dueAt: event.timestamp,
        })
        const queued: QueuedDelivery = { deliveryId, eventId: event.id }
        return queued
      }),
    )
  })

  return { create, get, list, update, delete: remove, rotateSecret, enable, test }
})
