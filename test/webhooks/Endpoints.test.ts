import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_ENDPOINTS } from "../../src/domains/webhooks/endpoints/Rules.ts"
import { TestService } from "../support/TestService.ts"
import { openWebhookFixture, rejectionOf } from "./WebhookFixture.ts"

const absent = "0199aaaa-0000-7000-8000-000000000000"

layer(TestService.layer, { excludeTestServices: true })("webhook endpoints", (it) => {
  it.effect("an endpoint is created, changed, listed and deleted, and each step is an event without its secret", () =>
    Effect.gen(function* () {
      const { call, events } = yield* openWebhookFixture
      const body = { url: "https://example.com/events", eventNames: ["CUSTOMER_CREATION"], description: "Billing" }
      const created = yield* call("POST", "/webhooks", body)
      assert.strictEqual(created.status, 201)
      const { secret, ...record } = created.body
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.strictEqual(created.headers.get("location"), `/api/webhooks/${record.id}`)
      assert.deepStrictEqual(record, {
        id: record.id,
        ...body,
        disabledAt: null,
        failingSince: null,
        disabledReason: null,
        pausedAt: null,
        createdAt: record.createdAt,
        updatedAt: record.createdAt,
        createdBy: { id: record.createdBy.id, name: "system:platform" },
        updatedBy: record.createdBy,
      })
      const path = `/webhooks/${record.id}`
      assert.deepStrictEqual((yield* call("GET", path)).body, record)
      const changed = yield* call("PUT", path, { url: "https://EXAMPLE.com:443/more", eventNames: ["*"] })
      assert.deepStrictEqual([changed.status, changed.text], [204, ""])
      const after = (yield* call("GET", path)).body
      assert.deepStrictEqual(after, {
        ...record,
        url: "https://example.com/more",
        eventNames: ["*"],
        updatedAt: after.updatedAt,
      })
      assert.deepStrictEqual((yield* call("GET", "/webhooks")).body.items, [after])
      assert.strictEqual((yield* call("DELETE", path)).status, 204)
      assert.deepStrictEqual(rejectionOf(yield* call("GET", path)), {
        status: 404,
        code: "WebhookEndpoint.NotFound",
        places: [],
      })
      assert.deepStrictEqual(yield* events, [
        ["WEBHOOK_ENDPOINT_CREATED", record],
        ["WEBHOOK_ENDPOINT_UPDATED", after],
        ["WEBHOOK_ENDPOINT_DELETED", after],
      ])
    }),
  )

  it.effect("an update does not change omitted properties, and null clears the description", () =>
    Effect.gen(function* () {
      const { call, createEndpoint } = yield* openWebhookFixture
      const { secret: _, ...record } = yield* createEndpoint({ description: "Billing" })
      const path = `/webhooks/${record.id}`
      yield* call("PUT", path, {})
      const { updatedAt, ...same } = (yield* call("GET", path)).body
      assert.deepStrictEqual({ ...same, updatedAt: record.updatedAt }, record)
      assert.isTrue(updatedAt >= record.updatedAt)
      yield* call("PUT", path, { description: null })
      assert.isNull((yield* call("GET", path)).body.description)
    }),
  )

  it.effect("endpoints are listed newest first, page by page", () =>
    Effect.gen(function* () {
      const { call, createEndpoint } = yield* openWebhookFixture
      const ids: Array<string> = []
      for (let made = 0; made < 3; made++) ids.unshift((yield* createEndpoint()).id)
      const first = (yield* call("GET", "/webhooks?limit=2")).body
      const second = (yield* call("GET", `/webhooks?limit=2&cursor=${first.nextCursor}`)).body
      assert.deepStrictEqual(
        [...first.items, ...second.items].map(({ id }: { id: string }) => id),
        ids,
      )
      assert.deepStrictEqual([second.hasMore, second.nextCursor], [false, ""])
    }),
  )

  it.effect("subscriptions must be at least one event name or *, without duplicates", () =>
    Effect.gen(function* () {
      const { call, createEndpoint } = yield* openWebhookFixture
      const path = `/webhooks/${(yield* createEndpoint()).id}`
      const url = "https://example.com/events"
      const cases = [
        [[], "body.eventNames"],
        [["CUSTOMER_CREATION", "CUSTOMER_EXPLODED"], "body.eventNames[1]"],
        [["CUSTOMER_CREATION", "*", "CUSTOMER_CREATION"], "body.eventNames[2]"],
        [[7], "body.eventNames[0]"],
        ["*", "body.eventNames"],
      ] as const
      for (const [eventNames, place] of cases) {
        const rejected = { status: 422, code: "Request.ValidationFailed", places: [place] }
        assert.deepStrictEqual(rejectionOf(yield* call("POST", "/webhooks", { url, eventNames })), rejected)
        assert.deepStrictEqual(rejectionOf(yield* call("PUT", path, { eventNames })), rejected)
      }
    }),
  )

  it.effect("all validation errors of a body are returned, without the password of a URL", () =>
    Effect.gen(function* () {
      const { call } = yield* openWebhookFixture
      const rejected = yield* call("POST", "/webhooks", {
        url: "https://me:hunter2@example.com/",
        eventNames: ["*", "*"],
      })
      assert.deepStrictEqual(rejectionOf(rejected).places, ["body.url", "body.eventNames[1]"])
      assert.notInclude(rejected.text, "hunter2")
    }),
  )

  it.effect("an id that is not a UUID is rejected with its location, and an unknown id is not found", () =>
    Effect.gen(function* () {
      const { call } = yield* openWebhookFixture
      assert.deepStrictEqual(rejectionOf(yield* call("GET", "/webhooks/mine")).places, ["path.id"])
      for (const [method, path] of [
        ["PUT", `/webhooks/${absent}`],
        ["DELETE", `/webhooks/${absent}`],
        ["POST", `/webhooks/${absent}/test`],
        ["POST", `/webhooks/${absent}/enable`],
        ["POST", `/webhooks/${absent}/rotate-secret`],
      ] as const) {
        const answer = yield* call(method, path, method === "PUT" ? {} : undefined)
        assert.strictEqual(rejectionOf(answer).code, "WebhookEndpoint.NotFound", path)
      }
    }),
  )

  it.effect(
    "a test enqueues one delivery to this endpoint only, even if it is disabled or subscribed to other events",
    () =>
      Effect.gen(function* () {
        const { call, disable, createEndpoint, events, lanes, queue, sql } = yield* openWebhookFixture
        yield* createEndpoint()
        const { secret: _, ...record } = yield* createEndpoint({ eventNames: ["LICENSE_ARCHIVED"] })
        yield* disable(record.id)
        const disabled = (yield* call("GET", `/webhooks/${record.id}`)).body
        const tested = yield* call("POST", `/webhooks/${record.id}/test`)
        assert.strictEqual(tested.status, 202)
        assert.deepStrictEqual(Object.keys(tested.body).sort(), ["deliveryId", "eventId"])
        assert.deepStrictEqual(yield* queue, [
          { id: tested.body.deliveryId, endpointId: record.id, eventId: tested.body.eventId, attempt: 1, lease: null },
        ])
        assert.deepStrictEqual(
          (yield* lanes).map(({ endpointId }) => endpointId),
          [record.id],
        )
        assert.deepStrictEqual((yield* events).at(-1), ["WEBHOOK_ENDPOINT_TESTED", disabled])
        const handedOn = yield* sql`SELECT 1 FROM webhook_outbox WHERE event_id = ${tested.body.eventId}`
        assert.deepStrictEqual(handedOn, [])
      }),
  )

  it.effect("a disabled endpoint is reported as disabled, and enabling it twice emits one event", () =>
    Effect.gen(function* () {
      const { call, disable, createEndpoint, events, sql } = yield* openWebhookFixture
      const { id } = yield* createEndpoint()
      yield* disable(id)
      const disabled = (yield* call("GET", `/webhooks/${id}`)).body
      assert.deepStrictEqual([disabled.disabledAt, disabled.disabledReason], ["2026-01-06T00:00:00.000Z", "failed"])
      yield* call("PUT", `/webhooks/${id}`, { description: "still off" })
      assert.isNotNull((yield* call("GET", `/webhooks/${id}`)).body.disabledAt)
      const enabled = yield* call("POST", `/webhooks/${id}/enable`)
      assert.strictEqual(enabled.status, 200)
      assert.deepStrictEqual([enabled.body.disabledAt, enabled.body.disabledReason], [null, null])
      assert.deepStrictEqual((yield* call("POST", `/webhooks/${id}/enable`)).body, enabled.body)
      assert.deepStrictEqual(
        (yield* events).filter(([type]: [string]) => type === "WEBHOOK_ENDPOINT_ENABLED"),
        [["WEBHOOK_ENDPOINT_ENABLED", enabled.body]],
      )
      const health = yield* sql`SELECT failing_since AS since FROM webhook_endpoints WHERE id = ${id}`
      assert.deepStrictEqual(health, [{ since: null }])
    }),
  )

  it.effect("a deletion deletes the backlog and marks each delivery's last attempt", () =>
    Effect.gen(function* () {
      const { insertAttempts, call, createPartitions, createEndpoint, lanes, enqueue, queue, sql } =
        yield* openWebhookFixture
      yield* createPartitions("2026-01-01")
      const gone = yield* createEndpoint()
      const stays = yield* createEndpoint()
      yield* call("POST", `/webhooks/${gone.id}/test`)
      const [tried, inFlight, other] = ["a", "b", "c"].map((digit) => `0199aaaa-0000-7000-8000-00000000000${digit}`)
      const failure = { endpointId: gone.id, state: "Failure", nextAttemptAt: "2026-01-01T02:00:00Z" } as const
      yield* insertAttempts([
        { ...failure, deliveryId: tried!, attempt: 1, timestamp: "2026-01-01T00:00:00Z", error: "500" },
        { ...failure, deliveryId: tried!, attempt: 2, timestamp: "2026-01-01T01:00:00Z", error: "status: 500" },
        { ...failure, deliveryId: inFlight!, attempt: 1, timestamp: "2026-01-01T01:00:01Z" },
        { ...failure, endpointId: stays.id, deliveryId: other!, timestamp: "2026-01-01T01:00:02Z" },
      ])
      yield* enqueue({ endpointId: gone.id, deliveryId: tried!, attempt: 3 })
      yield* enqueue({ endpointId: gone.id, deliveryId: inFlight!, attempt: 2, lease: absent, claimedAt: new Date() })
      yield* enqueue({ endpointId: stays.id, deliveryId: other!, attempt: 2 })
      assert.strictEqual((yield* call("DELETE", `/webhooks/${gone.id}`)).status, 204)
      assert.deepStrictEqual(
        (yield* queue).map(({ id }) => id),
        [other],
      )
      assert.deepStrictEqual(yield* lanes, [])
      const history = (yield* call("GET", "/webhooks/history")).body.items.map(
        ({ attempt, deliveryId, error, nextAttemptAt, state }: Record<string, unknown>) => ({
          deliveryId,
          attempt,
          state,
          error,
          nextAttemptAt,
        }),
      )
      const next = "2026-01-01T02:00:00.000Z"
      assert.deepStrictEqual(history, [
        { deliveryId: other, attempt: 1, state: "Failure", error: null, nextAttemptAt: next },
        { deliveryId: inFlight, attempt: 1, state: "Failed", error: "the endpoint was deleted", nextAttemptAt: null },
        {
          deliveryId: tried,
          attempt: 2,
          state: "Failed",
          error: "status: 500; the endpoint was deleted",
          nextAttemptAt: null,
        },
        { deliveryId: tried, attempt: 1, state: "Failure", error: "500", nextAttemptAt: next },
      ])
      const secrets = yield* sql`SELECT endpoint_id AS "endpointId" FROM webhook_secrets
        WHERE endpoint_id IN (${gone.id}, ${stays.id})`
      assert.deepStrictEqual(secrets, [{ endpointId: stays.id }])
    }),
  )

  it.effect("concurrent creations cannot exceed the maximum number of endpoints", () =>
    Effect.gen(function* () {
      const { call, createEndpoint, sql, tenant } = yield* openWebhookFixture
      const { id } = yield* createEndpoint()
      yield* sql`INSERT INTO webhook_endpoints
        SELECT organization_id, gen_random_uuid(), url, event_names, description, failing_since, disabled_at,
          disabled_reason, created_at, created_by, updated_at, updated_by
        FROM webhook_endpoints, generate_series(1, ${MAX_ENDPOINTS - 3})
        WHERE organization_id = ${tenant.organizationId}`
      const create = call("POST", "/webhooks", { url: "https://example.com", eventNames: ["*"] })
      const answers = yield* Effect.all([create, create, create, create], { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 201, 409, 409],
      )
      const rejected = answers.find(({ status }) => status === 409)
      assert.strictEqual(rejected?.body.code, "CreateWebhookEndpoint.LimitReached")
      yield* call("DELETE", `/webhooks/${id}`)
      assert.strictEqual((yield* create).status, 201)
    }),
  )

  it.effect("a creation that is replayed with its key returns the first endpoint and creates none", () =>
    Effect.gen(function* () {
      const { call, service, tenant } = yield* openWebhookFixture
      const send = service.core("POST", "/webhooks", {
        token: tenant.token,
        body: { url: "https://example.com", eventNames: ["*"] },
        headers: { "idempotency-key": "once" },
      })
      const { body } = yield* send
      const again = yield* send
      assert.deepStrictEqual([again.status, again.body.code], [409, "IdempotencyKey.SecretNotReplayable"])
      assert.include(again.body.detail, body.id)
      assert.notInclude(again.text, body.secret)
      assert.strictEqual((yield* call("GET", "/webhooks")).body.items.length, 1)
    }),
  )
})
