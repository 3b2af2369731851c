import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { TestService } from "../support/TestService.ts"
import { openWebhookFixture, rejectionOf } from "./WebhookFixture.ts"

layer(TestService.layer, { excludeTestServices: true })("pausing an endpoint", (it) => {
  it.effect("returns it, is an event once, and ends with resume", () =>
    Effect.gen(function* () {
      const { call, createEndpoint, events } = yield* openWebhookFixture
      const { id } = yield* createEndpoint({ eventNames: ["LICENSE_ARCHIVED"] })
      const paused = yield* call("POST", `/webhooks/${id}/pause`)
      assert.strictEqual(paused.status, 200)
      assert.isNotNull(paused.body.pausedAt)
      assert.deepStrictEqual((yield* call("POST", `/webhooks/${id}/pause`)).body, paused.body)
      yield* call("PUT", `/webhooks/${id}`, { description: "still paused" })
      assert.strictEqual((yield* call("GET", `/webhooks/${id}`)).body.pausedAt, paused.body.pausedAt)
      const resumed = yield* call("POST", `/webhooks/${id}/resume`)
      assert.deepStrictEqual([resumed.status, resumed.body.pausedAt], [200, null])
      assert.deepStrictEqual((yield* call("POST", `/webhooks/${id}/resume`)).body, resumed.body)
      assert.deepStrictEqual(
        (yield* events).filter(([type]: [string]) => /_PAUSED|_RESUMED/.test(type)),
        [
          ["WEBHOOK_ENDPOINT_PAUSED", paused.body],
          ["WEBHOOK_ENDPOINT_RESUMED", resumed.body],
        ],
      )
    }),
  )

  it.effect("is rejected while the endpoint is disabled, and for an unknown one", () =>
    Effect.gen(function* () {
      const { call, createEndpoint, disable } = yield* openWebhookFixture
      const { id } = yield* createEndpoint()
      yield* disable(id)
      assert.deepStrictEqual(rejectionOf(yield* call("POST", `/webhooks/${id}/pause`)), {
        status: 409,
        code: "PauseWebhookEndpoint.Disabled",
        places: [],
      })
      for (const verb of ["pause", "resume"]) {
        const unknown = yield* call("POST", `/webhooks/${randomUUID()}/${verb}`)
        assert.strictEqual(rejectionOf(unknown).code, "WebhookEndpoint.NotFound", verb)
      }
    }),
  )

  it.effect("keeps its test events too", () =>
    Effect.gen(function* () {
      const { call, createEndpoint } = yield* openWebhookFixture
      const { id } = yield* createEndpoint({ eventNames: ["LICENSE_ARCHIVED"] })
      yield* call("POST", `/webhooks/${id}/pause`)
      yield* call("POST", `/webhooks/${id}/test`)
      const { health } = (yield* call("GET", `/webhooks/${id}?include=health`)).body
      assert.deepStrictEqual(health, { lastSuccessAt: null, waiting: { count: 1, truncated: false } })
    }),
  )
})
