import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schedule, Scope } from "effect"
import { connect } from "node:net"
import type { Socket } from "node:net"
import { EventSubscribers, LiveStreamLimits } from "../../src/domains/events/StreamSubscribers.ts"
import { EventsRepo } from "../../src/domains/events/Repo.ts"
import { Events } from "../../src/domains/events/Service.ts"
import { bySystem } from "../../src/kernel/contract/Caller.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import { now } from "../../src/kernel/values/Timestamp.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { arriving } from "../support/arriving.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import type { Call } from "../support/TestService.ts"
import { anotherNode, follow, names } from "./support.ts"
import type { Received } from "./support.ts"

allowInventedEvents()

const pace = { streamsPerOrganization: 3, streamsPerProcess: 8, heartbeatMillis: 200, stalledMillis: 1000 }

const until = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  condition.pipe(
    Effect.flatMap((holds) => (holds ? Effect.void : Effect.fail("not yet"))),
    Effect.retry(Schedule.spaced("5 millis")),
    Effect.timeout("15 seconds"),
  )

/** Opens a stream, waits for its start, and reads nothing after that. */
const stalledReader = (origin: string, token: string) =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const { hostname, port } = new URL(origin)
      const socket = connect(Number(port), hostname)
      socket.on("error", () => {})
      // Events ordered before this would precede the start of the stream.
      socket.once("data", () => resume(Effect.succeed(socket.pause())))
      socket.write(
        `GET /api/events HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\naccept: text/event-stream\r\n\r\n`,
      )
    }),
    (socket) => Effect.sync(() => socket.destroy()),
  )

const createPart = (core: Call, token: string, name: string) =>
  core("POST", "/components", { token, body: { name, version: "1" } })

layer(TestService.separate.pipe(Layer.provide(Layer.succeed(LiveStreamLimits, pace))), { excludeTestServices: true })(
  "the live stream",
  (it) => {
    it.effect("sends new events in the same form as the pages", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        yield* createPart(core, token, "before")
        const reader = yield* follow(origins.core, token)
        assert.strictEqual(reader.status, 200)
        assert.strictEqual(reader.headers.get("content-type"), "text/event-stream")
        assert.isNotEmpty(reader.headers.get("x-request-id"))
        yield* createPart(core, token, "after")
        const event = yield* reader.next
        assert.strictEqual(event.event, "COMPONENT_CREATED")
        const { body } = yield* core("GET", "/events", { token })
        assert.deepStrictEqual(event.data, body.items.at(-1))
        assert.strictEqual(event.id, body.nextCursor)
      }),
    )

    it.effect("resumes from a cursor of the pages and from the id of the last event", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const { body } = yield* core("GET", "/events", { token })
        for (const name of ["one", "two", "three"]) yield* createPart(core, token, name)
        const reader = yield* follow(origins.core, token, `/events?cursor=${body.nextCursor}`)
        assert.deepStrictEqual(yield* names(reader, 1), ["one"])
        const { id } = yield* reader.next
        yield* reader.close
        const resumed = yield* follow(origins.core, token, `/events?cursor=${body.nextCursor}`, { "last-event-id": id })
        assert.deepStrictEqual(yield* names(resumed, 1), ["three"])
      }),
    )

    it.effect("misses no event when a client reconnects before the first event", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const reader = yield* follow(origins.core, token)
        yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => reader.lastId() !== "" })
        yield* reader.close
        yield* createPart(core, token, "meanwhile")
        const resumed = yield* follow(origins.core, token, "/events", { "last-event-id": reader.lastId() })
        assert.deepStrictEqual(yield* names(resumed, 1), ["meanwhile"])
      }),
    )

    it.effect("sends only events that match its filters, and rejects ids of other filters", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const reader = yield* follow(origins.core, token, "/events?type=CUSTOMER_CREATION,COMPONENT_DELETED")
        const { body } = yield* createPart(core, token, "part")
        yield* core("POST", "/customers", { token, body: { name: "Initech" } })
        yield* core("DELETE", `/components/${body.slug}`, { token })
        const [first, second] = [yield* reader.next, yield* reader.next]
        assert.deepStrictEqual([first.event, second.event], ["CUSTOMER_CREATION", "COMPONENT_DELETED"])
        const rejected = yield* core("GET", "/events", {
          token,
          headers: { accept: "text/event-stream", "last-event-id": second.id },
        })
        assert.strictEqual(rejected.status, 400)
        assert.strictEqual(rejected.body.code, "Request.InvalidCursor")
        assert.strictEqual(rejected.body.errors[0].location, "header.last-event-id")
      }),
    )

    it.effect("can be filtered by one record", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { token } = yield* tenant()
        const { body } = yield* createPart(core, token, "mine")
        const reader = yield* follow(origins.core, token, `/events?resource=${body.id}`)
        yield* createPart(core, token, "other")
        yield* core("DELETE", `/components/${body.slug}`, { token })
        const { data } = yield* reader.next
        assert.deepStrictEqual([data.type, data.data.name], ["COMPONENT_DELETED", "mine"])
      }),
    )

    it.effect("sends no event of a change that was rolled back", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { organizationId, token } = yield* tenant()
        const events = yield* Events
        const transactions = yield* Transactions
        const reader = yield* follow(origins.core, token)
        const source = { ...bySystem, organizationId }
        yield* Effect.flip(
          transactions.run(
            Effect.andThen(events.emit(source, "COMPONENT_CREATED", { name: "ghost" }), Effect.fail("no")),
          ),
        )
        yield* createPart(core, token, "real")
        assert.deepStrictEqual(yield* names(reader, 1), ["real"])
      }),
    )

    it.effect("sends the event of a transaction that began early and committed late", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const { organizationId, token } = yield* tenant()
        const events = yield* Events
        const transactions = yield* Transactions
        const reader = yield* follow(origins.core, token)
        const emitted = yield* Deferred.make<void>()
        const mayCommit = yield* Deferred.make<void>()
        const late = yield* transactions
          .run(
            Effect.gen(function* () {
              yield* events.emit({ ...bySystem, organizationId }, "COMPONENT_CREATED", { name: "late" })
              yield* Deferred.succeed(emitted, undefined)
              yield* Deferred.await(mayCommit)
            }),
          )
          .pipe(Effect.forkChild)
        yield* Deferred.await(emitted)
        yield* createPart(core, token, "early")
        assert.deepStrictEqual(yield* names(reader, 1), ["early"])
        yield* Deferred.succeed(mayCommit, undefined)
        yield* Fiber.join(late)
        assert.deepStrictEqual(yield* names(reader, 1), ["late"])
      }),
    )

    it.effect("sends every event once and in order across reconnections, while two nodes write", () =>
      Effect.gen(function* () {
        const here = yield* TestService
        const there = yield* anotherNode
        const { token } = yield* here.tenant()
        const origins = [here.origins.core, there.origins.core]
        const start = (yield* here.core("GET", "/events", { token })).body.nextCursor as string
        const total = 120
        const writer = yield* Effect.forEach(
          Array.from({ length: total }, (_, index) => index),
          (index) => createPart(index % 2 === 0 ? here.core : there.core, token, `part ${index}`),
          { concurrency: 8, discard: true },
        ).pipe(Effect.forkChild)

        // Reads a few events from one node, disconnects, and resumes on the other.
        const read = Effect.fnUntraced(function* (seed: number) {
          const seen: Array<Received> = []
          let last = start
          for (let turn = seed; seen.length < total; turn++) {
            const few = Math.min(1 + ((turn * 7) % 23), total - seen.length)
            yield* Effect.scoped(
              Effect.gen(function* () {
                const reader = yield* follow(origins[turn % 2] ?? "", token, "/events", { "last-event-id": last })
                for (let count = 0; count < few; count++) {
                  const event = yield* reader.next
                  seen.push(event)
                  last = event.id
                }
              }),
            )
          }
          return seen
        })
        const [first, second] = yield* Effect.all([read(0), read(1)], { concurrency: 2 })
        yield* Fiber.join(writer)
        const stored: Array<string> = []
        for (let cursor = start, more = true; more;) {
          const { body } = yield* here.core("GET", `/events?limit=200&cursor=${cursor}`, { token })
          stored.push(...body.items.map((event: { readonly id: string }) => event.id))
          cursor = body.nextCursor
          more = body.hasMore
        }
        assert.strictEqual(stored.length, total)
        for (const seen of [first, second]) {
          assert.deepStrictEqual(
            seen.map(({ data }) => data.id),
            stored,
          )
        }
      }),
    )

    it.effect("sends events of another node immediately", () =>
      Effect.gen(function* () {
        const { origins, tenant } = yield* TestService
        const there = yield* anotherNode
        const { token } = yield* tenant()
        const reader = yield* follow(origins.core, token)
        yield* createPart(there.core, token, "elsewhere")
        assert.deepStrictEqual(yield* names(reader, 1), ["elsewhere"])
      }),
    )

    it.effect("polls for events that were not announced", () =>
      Effect.gen(function* () {
        const { origins, tenant } = yield* TestService
        const { organizationId, token } = yield* tenant()
        const repo = yield* EventsRepo
        const reader = yield* follow(origins.core, token)
        const event = { ...bySystem, organizationId, type: "COMPONENT_CREATED" as const }
        // Simulates a crash between the commit and its signal.
        yield* repo.insert({ ...event, id: yield* newId, timestamp: yield* now, data: { name: "unannounced" } })
        assert.deepStrictEqual(yield* names(reader, 1).pipe(Effect.timeout("5 seconds")), ["unannounced"])
      }),
    )

    it.effect("disconnects a client that reads nothing, and buffers little for it", () =>
      Effect.gen(function* () {
        const { origins, tenant } = yield* TestService
        const followers = yield* EventSubscribers
        const sql = yield* PgClient.PgClient
        const { organizationId, token } = yield* tenant()
        const free = until(Effect.map(followers.open, (count) => count === 0))
        yield* free
        yield* stalledReader(origins.core, token)
        yield* until(Effect.map(followers.open, (count) => count === 1))
        const before = process.memoryUsage()
        // 96 MB: far more than the socket buffers.
        yield* arriving(
          sql,
          sql`
            INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
            SELECT ${organizationId}, gen_random_uuid(), 'COMPONENT_CREATED', 'epoch', '{}',
              json_build_object('name', repeat('x', 48000)) FROM generate_series(1, 2000)`,
        )
        yield* free
        const after = process.memoryUsage()
        assert.isBelow(after.external - before.external, 48 * 1024 * 1024)
      }),
    )

    it.effect("ends promptly at shutdown, even for a client that reads nothing", () =>
      Effect.gen(function* () {
        const { tenant } = yield* TestService
        const { token } = yield* tenant()
        const scope = yield* Scope.make()
        const node = yield* anotherNode.pipe(Scope.provide(scope))
        const reader = yield* follow(node.origins.core, token)
        yield* until(Effect.sync(() => reader.lastId() !== ""))
        yield* stalledReader(node.origins.core, token)
        const begin = performance.now()
        yield* Scope.close(scope, Exit.void)
        yield* reader.ended
        assert.isBelow(performance.now() - begin, 5000)
      }),
    )

    it.effect("ends soon after its token is revoked, and not before", () =>
      Effect.gen(function* () {
        const { core, operator, origins, platform, tenant, tokenWith } = yield* TestService
        const owner = yield* tenant()
        const token = yield* tokenWith(owner, ["read:organizations"])
        const reader = yield* follow(origins.core, token)
        const beats = () => reader.text().split("\n:\n").length - 1
        yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => beats() >= 2 })
        const list = yield* platform("GET", `/platform/organizations/${owner.organizationId}/tokens`, {
          token: operator,
        })
        const { slug } = list.body.items[0]
        yield* platform("DELETE", `/platform/organizations/${owner.organizationId}/tokens/${slug}`, { token: operator })
        yield* reader.ended.pipe(Effect.timeout("5 seconds"))
        const rejected = yield* core("GET", "/events", { token, headers: { accept: "text/event-stream" } })
        assert.strictEqual(rejected.status, 401)
      }),
    )

    it.effect("rejects streams above the limits, and frees capacity when a client disconnects", () =>
      Effect.gen(function* () {
        const { core, origins, tenant } = yield* TestService
        const followers = yield* EventSubscribers
        const { token } = yield* tenant()
        const freed = (count: number) => until(Effect.map(followers.open, (open) => open === count))
        yield* freed(0)
        const mine = yield* Effect.replicateEffect(follow(origins.core, token), 3)
        const live = { token, headers: { accept: "text/event-stream" } }
        const fourth = yield* core("GET", "/events", live)
        assert.strictEqual(fourth.status, 429)
        assert.strictEqual(fourth.body.code, "FollowEvents.TooManyStreams")
        assert.strictEqual(fourth.headers.get("retry-after"), "15")
        const others = yield* Effect.replicateEffect(tenant(), 2)
        for (const other of others)
          yield* Effect.replicateEffect(follow(origins.core, other.token), other === others[0] ? 3 : 2)
        const ninth = yield* core("GET", "/events", { ...live, token: (yield* tenant()).token })
        assert.strictEqual(ninth.status, 503)
        assert.strictEqual(ninth.body.code, "FollowEvents.NodeFull")
        yield* mine[0]?.close ?? Effect.void
        yield* freed(7)
        const again = yield* follow(origins.core, token)
        assert.strictEqual(again.status, 200)
      }),
    )

    it.effect("is returned only to requests that accept it", () =>
      Effect.gen(function* () {
        const { core, tenant, tokenWith } = yield* TestService
        const owner = yield* tenant()
        for (const accept of ["*/*", "application/json", "text/*", "application/json, text/event-stream;q=0.5"]) {
          const { body, status } = yield* core("GET", "/events", { token: owner.token, headers: { accept } })
          assert.strictEqual(status, 200)
          assert.isArray(body.items)
        }
        const head = yield* core("HEAD", "/events", { token: owner.token, headers: { accept: "text/event-stream" } })
        assert.strictEqual(head.status, 200)
        assert.include(head.headers.get("content-type") ?? "", "application/json")
        const blind = yield* tokenWith(owner, ["read:releases"])
        const rejected = yield* core("GET", "/events", { token: blind, headers: { accept: "text/event-stream" } })
        assert.strictEqual(rejected.body.code, "Auth.MissingScope")
      }),
    )
  },
)
