import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { testServiceForms } from "../support/forms.ts"
import { openWebhookFixture, rejectionOf } from "./WebhookFixture.ts"
import type { StoredAttempt } from "./WebhookFixture.ts"

const absent = "0199aaaa-0000-7000-8000-000000000000"

interface Item {
  readonly id: string
  readonly state: string
  readonly endpointId: string
  readonly eventName: string
}

const idsOf = (items: ReadonlyArray<{ readonly id: string }>) => items.map(({ id }) => id)

/** Sorts rows by time, then by id, in descending order. */
const newestFirst = (rows: ReadonlyArray<StoredAttempt>) =>
  rows.toSorted((left, right) => {
    const [a, b] = [`${left.timestamp}${left.id}`, `${right.timestamp}${right.id}`]
    return a < b ? 1 : -1
  })

for (const { form, service } of testServiceForms) {
  layer(service, { excludeTestServices: true })(`the delivery history, ${form},`, (it) => {
    it.effect("an item contains its attempt and the exact text that was sent", () =>
      Effect.gen(function* () {
        const { insertAttempts, call, createPartitions, createEndpoint } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01")
        const made = yield* createEndpoint()
        yield* call("POST", "/customers", { name: 'Łódź "Trade" \u2028 & Co', domain: "example.com" })
        const event = (yield* call("GET", "/events")).body.items.at(-1)
        const deliveryId = randomUUID()
        const id = randomUUID()
        yield* insertAttempts([
          {
            id,
            deliveryId,
            endpointId: made.id,
            eventId: event.id,
            attempt: 2,
            state: "Failure",
            error: "status: 500",
            timestamp: "2026-01-01T10:00:00.123Z",
            nextAttemptAt: "2026-01-01T10:05:00.456Z",
          },
        ])
        const { items } = (yield* call("GET", "/webhooks/history")).body
        const { actor, credential, data, organizationId, timestamp, type } = event
        assert.deepStrictEqual(items, [
          {
            id,
            deliveryId,
            eventId: event.id,
            eventName: "CUSTOMER_CREATION",
            endpointId: made.id,
            endpointUrl: "https://example.com/events",
            attempt: 2,
            state: "Failure",
            statusCode: 500,
            requestBody: JSON.stringify({ id: event.id, type, timestamp, organizationId, actor, credential, data }),
            responseBody: "answered",
            error: "status: 500",
            durationMs: 12,
            nextAttemptAt: "2026-01-01T10:05:00.456Z",
            timestamp: "2026-01-01T10:00:00.123Z",
          },
        ])
      }),
    )

    it.effect("a status and a time range filter attempts, alone and combined, and page by page", () =>
      Effect.gen(function* () {
        const { call, createEndpoint, createPartitions, enqueue, insertAttempts } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01", "2026-01-02")
        const { id: endpointId } = yield* createEndpoint()
        const at = (hour: number) => `2026-01-0${hour < 24 ? 1 : 2}T${String(hour % 24).padStart(2, "0")}:00:00.000Z`
        // Every third attempt failed with 500, the others succeeded with 200.
        yield* insertAttempts(
          Array.from({ length: 30 }, (_, hour) => ({
            endpointId: hour < 15 ? endpointId : absent,
            timestamp: at(hour),
            state: hour % 3 === 0 ? "Failed" : "Success",
          })),
        )
        const claimedAt = new Date(at(10))
        const leasedUntil = new Date(Date.now() + 60_000)
        yield* enqueue({
          endpointId,
          deliveryId: randomUUID(),
          attempt: 1,
          lease: randomUUID(),
          claimedAt,
          leasedUntil,
        })
        const hours = (query: string) =>
          Effect.map(call("GET", `/webhooks/history?limit=200&${query}`), ({ body }) =>
            body.items.map(
              ({ timestamp }: { timestamp: string }) => (Date.parse(timestamp) - Date.parse(at(0))) / 3_600_000,
            ),
          )
        assert.deepStrictEqual(yield* hours("statusCode=500"), [27, 24, 21, 18, 15, 12, 9, 6, 3, 0])
        assert.deepStrictEqual(yield* hours("statusCode=404"), [])
        assert.deepStrictEqual(yield* hours(`statusCode=500&endpoint=${endpointId}`), [12, 9, 6, 3, 0])
        assert.deepStrictEqual(yield* hours(`statusCode=200&since=${at(22)}&until=${at(27)}`), [26, 25, 23, 22])
        assert.deepStrictEqual(
          yield* hours(`statusCode=500&state=Failed&event=CUSTOMER_CREATION&until=${at(7)}`),
          [6, 3, 0],
        )
        // The attempt in flight has a time but no status.
        assert.deepStrictEqual(yield* hours(`since=${at(9)}&until=${at(11)}`), [10, 10, 9])
        assert.deepStrictEqual(yield* hours(`state=Sending&since=${at(10)}`), [10])
        assert.deepStrictEqual(yield* hours(`state=Sending&since=${at(11)}`), [])
        assert.deepStrictEqual(yield* hours("state=Sending&statusCode=200"), [])
        const query = `statusCode=500&since=${at(3)}&limit=2`
        const first = yield* call("GET", `/webhooks/history?${query}`)
        const second = yield* call("GET", `/webhooks/history?${query}&cursor=${first.body.nextCursor}`)
        assert.deepStrictEqual(
          [...first.body.items, ...second.body.items].map(({ timestamp }) => timestamp),
          [27, 24, 21, 18].map(at),
        )
        for (const filters of [`statusCode=200&since=${at(3)}`, `statusCode=500&since=${at(4)}`, "statusCode=500"]) {
          const other = yield* call("GET", `/webhooks/history?${filters}&cursor=${first.body.nextCursor}`)
          assert.strictEqual(rejectionOf(other).code, "Request.InvalidCursor", filters)
        }
        for (const [wrong, place] of [
          ["statusCode=99", "query.statusCode"],
          ["statusCode=5e2", "query.statusCode"],
          ["statusCode=0x1f4", "query.statusCode"],
          ["statusCode=500.0", "query.statusCode"],
          ["statusCode=%20500", "query.statusCode"],
          ["statusCode=", "query.statusCode"],
          ["statusCode=ok", "query.statusCode"],
          ["since=2026-02-30T00:00:00Z", "query.since"],
          ["until=tomorrow", "query.until"],
        ]) {
          assert.deepStrictEqual(rejectionOf(yield* call("GET", `/webhooks/history?${wrong}`)).places, [place])
        }
      }),
    )

    it.effect("an attempt whose event is no longer stored has no request body", () =>
      Effect.gen(function* () {
        const { insertAttempts, call, createPartitions } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01")
        yield* insertAttempts([{ endpointId: absent, timestamp: "2026-01-01T00:00:00Z" }])
        const { items } = (yield* call("GET", "/webhooks/history")).body
        assert.deepStrictEqual([items.length, items[0].requestBody], [1, null])
      }),
    )

    it.effect("hundreds of attempts over two days are listed once and newest first, with every filter", () =>
      Effect.gen(function* () {
        const { insertAttempts, call, createPartitions } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01", "2026-01-02")
        const endpoints = [randomUUID(), randomUUID(), randomUUID()]
        const events = [randomUUID(), randomUUID()]
        const states = ["Success", "Failure", "Failed"] as const
        // Ten per instant, so that only the id orders them. One instant is midnight.
        const rows = Array.from({ length: 600 }, (_, index) => ({
          id: randomUUID(),
          timestamp: new Date(Date.parse("2026-01-01T23:59:30Z") + Math.floor(index / 10) * 1000).toISOString(),
          endpointId: endpoints[index % 3] ?? "",
          eventName: index % 4 === 0 ? "LICENSE_ARCHIVED" : "CUSTOMER_CREATION",
          eventId: events[index % 5 === 0 ? 0 : 1] ?? "",
          state: states[index % 7 === 0 ? 2 : index % 2] ?? "Success",
        }))
        yield* insertAttempts(rows)
        const readAll = Effect.fnUntraced(function* (filter: string, limit: number) {
          const found: Array<Item> = []
          let cursor = ""
          for (let pages = 0; pages === 0 || cursor !== ""; pages++) {
            const query = `limit=${limit}${filter}${cursor === "" ? "" : `&cursor=${cursor}`}`
            const { body, status, text } = yield* call("GET", `/webhooks/history?${query}`)
            assert.strictEqual(status, 200, text)
            assert.isAtMost(body.items.length, limit)
            assert.strictEqual(body.hasMore, body.nextCursor !== "")
            found.push(...body.items)
            cursor = body.nextCursor
          }
          return found
        })
        const cases: ReadonlyArray<readonly [filter: string, (row: (typeof rows)[number]) => boolean]> = [
          ["", () => true],
          [`&endpoint=${endpoints[0]?.toUpperCase()}`, ({ endpointId }) => endpointId === endpoints[0]],
          ["&event=LICENSE_ARCHIVED", ({ eventName }) => eventName === "LICENSE_ARCHIVED"],
          [`&event=${events[0]}`, ({ eventId }) => eventId === events[0]],
          ...states.map((state) => [`&state=${state}`, (row: (typeof rows)[number]) => row.state === state] as const),
          ["&state=Sending", () => false],
          [
            `&endpoint=${endpoints[1]}&event=CUSTOMER_CREATION&state=Failed`,
            ({ endpointId, eventName, state }) =>
              endpointId === endpoints[1] && eventName === "CUSTOMER_CREATION" && state === "Failed",
          ],
          [`&endpoint=${absent}`, () => false],
        ]
        for (const [filter, matches] of cases) {
          const expected = idsOf(newestFirst(rows.filter(matches)) as ReadonlyArray<{ readonly id: string }>)
          for (const limit of filter === "" ? [7, 50, 51, 200] : [61]) {
            assert.deepStrictEqual(idsOf(yield* readAll(filter, limit)), expected, `${filter} by ${limit}`)
          }
        }
      }),
    )

    it.effect("an attempt in flight is listed as Sending while its lease is valid", () =>
      Effect.gen(function* () {
        const { insertAttempts, call, createPartitions, createEndpoint, enqueue } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01")
        const made = yield* createEndpoint()
        const soon = new Date(Date.now() + 60_000)
        const [older, newer, flying] = [randomUUID(), randomUUID(), randomUUID()]
        yield* insertAttempts([
          { id: older, endpointId: made.id, timestamp: "2026-01-01T00:00:00Z" },
          { id: newer, endpointId: made.id, timestamp: "2026-01-01T00:00:02Z" },
        ])
        const eventId = randomUUID()
        const claimedAt = new Date("2026-01-01T00:00:01Z")
        const delivery = { endpointId: made.id, attempt: 3, deliveryId: randomUUID(), eventId }
        yield* enqueue({ ...delivery, lease: flying, claimedAt, leasedUntil: soon })
        // Another is pending, and the lease of a third has expired.
        yield* enqueue({ ...delivery, deliveryId: randomUUID() })
        yield* enqueue({
          ...delivery,
          deliveryId: randomUUID(),
          lease: randomUUID(),
          claimedAt,
          leasedUntil: new Date(0),
        })
        const { items } = (yield* call("GET", "/webhooks/history")).body
        assert.deepStrictEqual(idsOf(items), [newer, flying, older])
        assert.deepStrictEqual(items[1], {
          id: flying,
          deliveryId: delivery.deliveryId,
          eventId,
          eventName: "CUSTOMER_CREATION",
          endpointId: made.id,
          endpointUrl: made.url,
          attempt: 3,
          state: "Sending",
          statusCode: null,
          requestBody: null,
          responseBody: null,
          error: null,
          durationMs: null,
          nextAttemptAt: null,
          timestamp: "2026-01-01T00:00:01.000Z",
        })
        const idsAt = (query: string) =>
          Effect.map(call("GET", `/webhooks/history?${query}`), ({ body }) => idsOf(body.items))
        assert.deepStrictEqual(yield* idsAt("state=Sending"), [flying])
        assert.deepStrictEqual(yield* idsAt(`state=Sending&endpoint=${made.id}&event=CUSTOMER_CREATION`), [flying])
        assert.deepStrictEqual(yield* idsAt(`event=${eventId}`), [flying])
        assert.deepStrictEqual(yield* idsAt("state=Sending&event=LICENSE_ARCHIVED"), [])
        const first = (yield* call("GET", "/webhooks/history?limit=1")).body
        assert.deepStrictEqual(yield* idsAt(`limit=1&cursor=${first.nextCursor}`), [flying])
      }),
    )

    it.effect("an invalid filter is rejected with its location, and so is a cursor of other filters", () =>
      Effect.gen(function* () {
        const { insertAttempts, call, createPartitions } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01")
        for (const name of ["endpoint=mine", "event=CUSTOMER_EXPLODED", "state=success"]) {
          assert.deepStrictEqual(rejectionOf(yield* call("GET", `/webhooks/history?${name}`)), {
            status: 422,
            code: "Request.ValidationFailed",
            places: [`query.${name.split("=")[0]}`],
          })
        }
        yield* insertAttempts(
          [1, 2].map((second) => ({ endpointId: absent, timestamp: `2026-01-01T00:00:0${second}Z`, state: "Failed" })),
        )
        const { nextCursor } = (yield* call("GET", "/webhooks/history?limit=1&state=Failed")).body
        const moved = yield* call("GET", `/webhooks/history?limit=1&cursor=${nextCursor}`)
        assert.deepStrictEqual([moved.status, moved.body.code], [400, "Request.InvalidCursor"])
      }),
    )

    it.effect("an organization cannot read the history of another one", () =>
      Effect.gen(function* () {
        const { insertAttempts, createPartitions, createEndpoint, enqueue, service } = yield* openWebhookFixture
        yield* createPartitions("2026-01-01")
        const made = yield* createEndpoint()
        const deliveryId = randomUUID()
        yield* insertAttempts([{ endpointId: made.id, deliveryId, timestamp: "2026-01-01T00:00:00Z", state: "Failed" }])
        const flying = { lease: randomUUID(), claimedAt: new Date(), leasedUntil: new Date(Date.now() + 60_000) }
        yield* enqueue({ endpointId: made.id, deliveryId: randomUUID(), attempt: 1, ...flying })
        const { token } = yield* service.tenant()
        for (const query of ["", `?endpoint=${made.id}`, "?state=Failed", "?state=Sending"]) {
          const { body } = yield* service.core("GET", `/webhooks/history${query}`, { token })
          assert.deepStrictEqual(body.items, [], query)
        }
        const retried = yield* service.core("POST", `/webhooks/history/${deliveryId}/retry`, { token })
        assert.strictEqual(rejectionOf(retried).code, "WebhookDelivery.NotFound")
      }),
    )
  })
}
