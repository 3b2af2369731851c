import { assert, describe, it } from "@effect/vitest"
import { check } from "./support/Checker.ts"
import type { Endpoint, Evidence, HistoryAttempt } from "./support/Evidence.ts"
import type { Arrival } from "./support/Receiver.ts"

const BEGAN = Date.parse("2026-01-01T00:00:00.000Z")
const at = (millis: number) => new Date(BEGAN + millis).toISOString()

const endpoint: Endpoint = {
  key: "all",
  id: "endpoint",
  organizationId: "acme",
  eventNames: ["*"],
  createdAt: BEGAN,
  removedAt: null,
  expects: "success",
}

const arrived = (number: number, millis: number, more: Partial<Arrival> = {}): Arrival => ({
  number,
  key: "all",
  at: BEGAN + millis,
  headers: { "webhook-id": "event" },
  body: JSON.stringify({ id: "event", organizationId: "acme", data: { name: "write-1" } }),
  respondedAt: BEGAN + millis + 10,
  status: 200,
  goneAt: null,
  bytes: null,
  verified: true,
  ...more,
})

const attempted = (millis: number, more: Partial<HistoryAttempt> = {}): HistoryAttempt => ({
  id: `attempt ${millis}`,
  deliveryId: "delivery",
  eventId: "event",
  endpointId: "endpoint",
  endpointUrl: "http://127.0.0.1/all",
  attempt: 1,
  state: "Success",
  statusCode: 200,
  requestBody: null,
  responseBody: "",
  error: null,
  durationMs: 20,
  nextAttemptAt: null,
  timestamp: at(millis),
  ...more,
})

const failure = { state: "Failure", statusCode: 500 } as const
const crash = (kind: "killed" | "stopped", millis: number) => ({
  node: "one",
  kind,
  at: BEGAN + millis,
  leases: new Set(["endpoint/event"]),
})

const consistent: Evidence = {
  endpoints: [endpoint],
  writes: [{ marker: "write-1", organizationId: "acme", at: BEGAN, outcome: "ok", millis: 5 }],
  feed: [
    { id: "event", type: "CUSTOMER_CREATION", timestamp: at(5), organizationId: "acme", data: { name: "write-1" } },
  ],
  history: [attempted(10)],
  arrivals: [arrived(1, 15)],
  crashes: [],
}

const violated = (change: Partial<Evidence>) => [
  ...new Set(check({ ...consistent, ...change }).map(({ invariant }) => invariant)),
]

describe("the evidence checker", () => {
  it("consistent evidence has no violations", () => {
    assert.deepStrictEqual(check(consistent), [])
    assert.deepStrictEqual(
      check({
        ...consistent,
        history: [attempted(10, failure), attempted(5040, { attempt: 2 })],
        arrivals: [arrived(1, 15, { status: 500 }), arrived(2, 5045)],
      }),
      [],
    )
  })

  it("a crash with an open lease excuses one repeated request and no more", () => {
    const again = { history: [attempted(60_050)], arrivals: [arrived(1, 15), arrived(2, 60_055)] }
    assert.deepStrictEqual(violated(again), ["I9", "I8"])
    assert.deepStrictEqual(violated({ ...again, crashes: [crash("killed", 30)] }), [])
    const threeRequests = { ...again, arrivals: [...again.arrivals, arrived(3, 60_060)] }
    assert.deepStrictEqual(violated({ ...threeRequests, crashes: [crash("killed", 30)] }), ["I9", "I8"])
  })

  it("two records of one attempt are accepted if a node was suspended", () => {
    const late = {
      history: [attempted(10, { durationMs: 70_000 }), attempted(60_050)],
      arrivals: [arrived(1, 15), arrived(2, 60_055)],
    }
    assert.deepStrictEqual(violated(late), ["I3", "I8"])
    assert.deepStrictEqual(violated({ ...late, crashes: [crash("stopped", 30)] }), [])
  })

  it.each([
    ["an acknowledged write without an event", { feed: [], history: [], arrivals: [] }, ["I1"]],
    ["an event that was never delivered", { history: [], arrivals: [] }, ["I1"]],
    [
      "an event whose only attempt failed",
      { history: [attempted(10, failure)], arrivals: [arrived(1, 15, { status: 500 })] },
      ["I1"],
    ],
    ["an event of a rejected write", { writes: [{ ...consistent.writes[0]!, outcome: "rejected" as const }] }, ["I2"]],
    [
      "an event that was rolled back",
      { writes: [{ ...consistent.writes[0]!, outcome: "rolled back" as const }], feed: [] },
      ["I2"],
    ],
    [
      "a second attempt that is too early",
      {
        history: [attempted(10, failure), attempted(4000, { attempt: 2 })],
        arrivals: [arrived(1, 15, { status: 500 }), arrived(2, 4005)],
      },
      ["I3"],
    ],
    ["a seventh attempt", { history: [attempted(10), attempted(90, { attempt: 7, ...failure })] }, ["I4", "I3"]],
    ["a record without a request", { history: [attempted(10), attempted(90_000, { deliveryId: "other" })] }, ["I4"]],
    ["a record with a different status", { history: [attempted(10, { statusCode: 204 })] }, ["I4", "I9"]],
    ["a record with a different body", { history: [attempted(10, { requestBody: "{}" })] }, ["I9"]],
    ["a request without a record", { history: [] }, ["I9"]],
    ["a signature that does not verify", { arrivals: [arrived(1, 15, { verified: false })] }, ["I5"]],
    ["a request after the endpoint was deleted", { endpoints: [{ ...endpoint, removedAt: BEGAN - 31_000 }] }, ["I6"]],
    ["an event of another organization", { endpoints: [{ ...endpoint, organizationId: "bolt" }] }, ["I7"]],
  ])("%s is a violation", (_, change, expected) => {
    assert.deepStrictEqual(violated(change), expected)
  })
})
