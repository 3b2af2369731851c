import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { eventText, lowestIdAt, resourceOf } from "../../src/domains/events/Rules.ts"
import { EventRecord } from "../../src/kernel/contract/Event.ts"
import { Page, pageOfTexts } from "../../src/kernel/contract/Page.ts"
import { wantsStream } from "../../src/kernel/values/MediaTypes.ts"
import { newId, OrganizationId } from "../../src/kernel/values/Identifiers.ts"

const STREAM = "text/event-stream"

describe("requests for the live stream", () => {
  it.each([
    [undefined, false],
    ["", false],
    ["*/*", false],
    ["text/*", false],
    ["application/json", false],
    [STREAM, true],
    ["Text/Event-Stream; charset=utf-8", true],
    [`application/json;q=0.9, ${STREAM}`, true],
    [`application/json, ${STREAM}`, true],
    [`application/json, ${STREAM};q=0.9`, false],
    [`${STREAM};q=0`, false],
    [`${STREAM};q=nonsense`, false],
    [`*/*, ${STREAM};q=0.1`, true],
  ])("Accept: %s", (accept, expected) => {
    assert.strictEqual(wantsStream(accept), expected)
  })
})

describe("the resource of an event", () => {
  it.prop(
    "is the id of its data, whatever other properties it has",
    [Schema.String, Schema.Record(Schema.String, Schema.String)],
    ([id, others]) => resourceOf({ ...others, id }) === id,
  )

  it("is the next identifying property if the data has no id", () => {
    assert.strictEqual(resourceOf({ slug: "gold", licenseSlug: "other" }), "gold")
    assert.strictEqual(resourceOf({ instanceId: "i", licenseSlug: "gold" }), "i")
    assert.strictEqual(resourceOf({ id: null, connectorName: "crm" }), "crm")
    assert.strictEqual(resourceOf({ name: "nothing" }), null)
  })
})

describe("the lowest id of a time", () => {
  it.effect("is greater than ids generated before and less than ids generated since", () =>
    Effect.gen(function* () {
      const at = Date.UTC(2100, 0, 1)
      yield* TestClock.setTime(at - 1)
      const before = yield* newId
      yield* TestClock.setTime(at)
      const since = yield* newId
      const lowest = lowestIdAt(new Date(at))
      assert.isTrue(before < lowest && lowest < since, `${before} ${lowest} ${since}`)
    }),
  )
})

describe("the JSON of an event", () => {
  const event = {
    id: "0198c2b0-5f3e-7c1d-a3b4-9d2f6c1e8a70",
    type: "CUSTOMER_UPDATED",
    timestamp: new Date("2026-01-31T09:00:00.120Z"),
    organizationId: "019c1335-fa80-7c1d-a3b4-9d2f6c1e8a71",
    actor: { id: "019c1335-fa80-7c1d-a3b4-9d2f6c1e8a72", name: 'Build "server"' },
    credential: { id: "019c1335-fa80-7c1d-a3b4-9d2f6c1e8a73", name: "Runner", slug: "runner" },
    data: { name: "Gl\u00f6bex\n", tags: ["a"] },
    previous: { name: "Globex" },
  } as const
  const stored = {
    ...event,
    organizationId: Schema.decodeSync(OrganizationId)(event.organizationId),
    actor: JSON.stringify(event.actor),
    credential: JSON.stringify(event.credential),
    data: JSON.stringify(event.data),
  }
  const withPrevious = { ...stored, previous: JSON.stringify(event.previous) }
  const encode = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(EventRecord)))

  it("is the same as one encoded by its schema", () => {
    const { previous: _, ...withoutPrevious } = event
    assert.strictEqual(eventText(withPrevious), encode(event))
    assert.strictEqual(eventText({ ...stored, previous: null }), encode(withoutPrevious))
    assert.strictEqual(eventText({ ...withPrevious, credential: null }), encode({ ...event, credential: null }))
  })

  it("keeps all digits of amounts", () => {
    const data = '{"limit": 12345678901234567890.5}'
    assert.include(eventText({ ...withPrevious, data }), `"data":${data}`)
  })

  it("makes pages that their schema decodes", () => {
    const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toCodecJson(Page(EventRecord))))
    const page = { items: [eventText(withPrevious), eventText(withPrevious)], hasMore: true, nextCursor: "abc" }
    const { body } = pageOfTexts(page)
    assert(body._tag === "Uint8Array")
    assert.deepStrictEqual(decode(Buffer.from(body.body).toString()), { ...page, items: [event, event] })
  })
})
