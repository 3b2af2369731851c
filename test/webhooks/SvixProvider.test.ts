import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { OutboxSelection } from "../../src/domains/webhooks/outbox/OutboxFilter.ts"
import { Outbox } from "../../src/domains/events/Outbox.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { layer as svix, retryDelayAfter } from "../../src/domains/webhooks/outbox/SvixProvider.ts"
import { testServices } from "../support/TestService.ts"
import { emitEvent, createOrganization } from "./EngineFixture.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

interface Call {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: {
    readonly eventId?: string
    readonly eventType?: string
    readonly uid?: string
    readonly application?: { readonly uid: string; readonly name: string }
    readonly payload?: { readonly id: string; readonly type: string; readonly organizationId: OrganizationId }
  }
}

/**
 * Svix' message-create and application-create endpoints, as published: 202, 409 for a known event id, 404 without
 * application.
 */
const imitation = Effect.gen(function* () {
  const calls: Array<Call> = []
  const events = new Set<string>()
  const applications = new Set<string>()
  const state = { down: undefined as number | undefined, makesApplications: true }
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (part: string) => (text += part))
    request.on("end", () => {
      const path = request.url ?? ""
      const body = JSON.parse(text) as Call["body"]
      calls.push({ path, authorization: request.headers.authorization, body })
      const answer = (status: number, document: object) => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(document))
      }
      if (request.headers.authorization !== "Bearer testsk_secret")
        return answer(401, { code: "authentication_failed" })
      if (state.down !== undefined) return answer(state.down, { code: "down" })
      if (path === "/api/v1/app/?get_if_exists=true") {
        applications.add(body.uid ?? "")
        return answer(201, { id: "app_1", ...body })
      }
      const match = /^\/api\/v1\/app\/([^/]+)\/msg\/$/.exec(path)
      if (request.method !== "POST" || match === null) return answer(404, { code: "not_found" })
      const uid = match[1] ?? ""
      if (!applications.has(uid)) {
        if (!state.makesApplications || body.application?.uid !== uid) return answer(404, { code: "not_found" })
        applications.add(uid)
      }
      const eventId = body.eventId ?? ""
      if (events.has(eventId)) return answer(409, { code: "conflict" })
      events.add(eventId)
      answer(202, { id: "msg_1", eventId })
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))),
    () => Effect.sync(() => server.close()),
  )
  return { calls, events, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})

const START = Date.UTC(2026, 0, 31, 9)

const withSvix = <A, E, R>(
  test: (server: Effect.Success<typeof imitation>) => Effect.Effect<A, E, R>,
  token = "testsk_secret",
) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    yield* sql`TRUNCATE webhook_outbox`
    const server = yield* imitation
    yield* TestClock.setTime(START)
    return yield* test(server).pipe(
      Effect.provide(
        svix({ url: `${server.url}/`, token: Redacted.make(token) }).pipe(
          Layer.provideMerge(Outbox.layer),
          Layer.provide(FetchHttpClient.layer),
        ),
      ),
    )
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))

const publishAll = Effect.gen(function* () {
  const provider = yield* WebhookProvider
  while ((yield* provider.publishDue) > 0) continue
})

const waiting = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return yield* sql<{ id: string; claims: number; dueAt: Date }>`
    SELECT event_id AS id, claims, due_at AS "dueAt" FROM webhook_outbox ORDER BY event_id`
})

layer(testServices.pipe(Layer.provide(Layer.succeed(OutboxSelection, "all"))), { excludeTestServices: true })(
  "the Svix provider",
  (it) => {
    it.effect("an event becomes one message of the organization's application", () =>
      withSvix((server) =>
        Effect.gen(function* () {
          const organizationId = yield* createOrganization
          yield* emitEvent(organizationId, "COMPONENT_CREATED", { name: "part" })
          const [event] = yield* waiting
          yield* publishAll
          assert.deepStrictEqual(yield* waiting, [])
          const [call] = server.calls
          assert.strictEqual(call?.path, `/api/v1/app/${organizationId}/msg/`)
          assert.strictEqual(call?.authorization, "Bearer testsk_secret")
          assert.strictEqual(call?.body.eventId, event?.id)
          assert.strictEqual(call?.body.eventType, "COMPONENT_CREATED")
          assert.deepStrictEqual(call?.body.application, { name: organizationId, uid: organizationId })
          assert.strictEqual(call?.body.payload?.id, event?.id)
          assert.deepStrictEqual(Object.keys(call?.body.payload ?? {}), [
            "id",
            "type",
            "timestamp",
            "organizationId",
            "actor",
            "data",
          ])
          assert.strictEqual(server.calls.length, 1)
        }),
      ),
    )

    it.effect("a message that Svix already has is published", () =>
      withSvix((server) =>
        Effect.gen(function* () {
          const organizationId = yield* createOrganization
          yield* emitEvent(organizationId)
          server.events.add((yield* waiting)[0]?.id ?? "")
          yield* publishAll
          assert.deepStrictEqual(yield* waiting, [])
          assert.strictEqual(server.calls.length, 1)
        }),
      ),
    )

    it.effect("an application that the server does not know is created first", () =>
      withSvix((server) =>
        Effect.gen(function* () {
          server.state.makesApplications = false
          const organizationId = yield* createOrganization
          yield* emitEvent(organizationId)
          yield* publishAll
          assert.deepStrictEqual(
            server.calls.map(({ path }) => path),
            [
              `/api/v1/app/${organizationId}/msg/`,
              "/api/v1/app/?get_if_exists=true",
              `/api/v1/app/${organizationId}/msg/`,
            ],
          )
          assert.deepStrictEqual(yield* waiting, [])
        }),
      ),
    )

    it.effect("during an outage of Svix events wait with growing delays, and none is lost", () =>
      withSvix((server) =>
        Effect.gen(function* () {
          const organizationId = yield* createOrganization
          for (let number = 0; number < 3; number++) yield* emitEvent(organizationId)
          let at = START
          for (const [tries, status] of [500, 429, 401, 503].entries()) {
            server.state.down = status
            yield* TestClock.setTime(at)
            yield* publishAll
            const left = yield* waiting
            assert.deepStrictEqual(
              left.map(({ claims, dueAt }) => ({ claims, dueAt: dueAt.getTime() })),
              Array.from({ length: 3 }, () => ({ claims: tries + 1, dueAt: at + retryDelayAfter(tries + 1) })),
            )
            at += retryDelayAfter(tries + 1)
          }
          server.state.down = undefined
          yield* TestClock.setTime(at - 1)
          yield* publishAll
          assert.strictEqual((yield* waiting).length, 3)
          yield* TestClock.setTime(at)
          yield* publishAll
          assert.deepStrictEqual(yield* waiting, [])
          assert.strictEqual(server.events.size, 3)
        }),
      ),
    )

    it.effect("an event whose node died while publishing it is published again", () =>
      withSvix((server) =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const organizationId = yield* createOrganization
          yield* emitEvent(organizationId)
          const until = new Date(START + 300_000)
          yield* outbox.claimDue([organizationId], { at: new Date(START), until, perOrganization: 10 })
          yield* publishAll
          assert.strictEqual(server.calls.length, 0)
          yield* TestClock.setTime(until.getTime())
          yield* publishAll
          assert.strictEqual(server.events.size, 1)
          assert.deepStrictEqual(yield* waiting, [])
        }),
      ),
    )
  },
)
