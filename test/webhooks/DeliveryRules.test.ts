import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  attemptRowOf,
  endpointHealthOf,
  nextAttemptDueAt,
} from "../../src/domains/webhooks/delivery/AttemptRecorder.ts"
import type { EndedAttempt } from "../../src/domains/webhooks/delivery/AttemptRecorder.ts"
import type { AttemptError } from "../../src/domains/webhooks/delivery/Sender.ts"
import { isSubscribed, matchSubscriptions } from "../../src/domains/webhooks/outbox/SubscriptionMatching.ts"
import { retryDelayAfter } from "../../src/domains/webhooks/outbox/SvixProvider.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Ended = Schema.Struct({
  endpoint: between(1, 3),
  at: between(0, 50),
  status: Schema.NullOr(Schema.Literals([200, 204, 302, 500])),
  attempt: between(1, 9),
})

const endedOf = ({ at, attempt, endpoint, status }: typeof Ended.Type, index: number): EndedAttempt => ({
  claim: {
    organizationId: organizationIdOf("o"),
    id: `d${index}`,
    endpointId: `e${endpoint}`,
    eventId: "v",
    eventName: "COMPONENT_CREATED",
    attempt,
    claims: 1,
    lease: `l${index}`,
    location: `(0,${index + 1})`,
    dueAt: new Date(0),
  },
  url: "https://example.com/",
  outcome: {
    statusCode: status,
    responseBody: null,
    error: status === null ? { code: "timeout", message: "No answer" } : null,
  },
  startedAt: new Date(at * 1000),
  endedAt: new Date(at * 1000 + index),
  durationMs: 1,
})

const isSuccess = (ended: EndedAttempt) => ended.outcome.statusCode === 200 || ended.outcome.statusCode === 204

describe("ended attempts", () => {
  it.effect.prop(
    "an endpoint is failing since its first failure after its last success",
    [Schema.Array(Ended).check(Schema.isMaxLength(12))],
    ([list]) =>
      Effect.sync(() => {
        const ended = list.map(endedOf)
        const health = endpointHealthOf(ended)
        assert.sameMembers(
          health.map(({ endpointId }) => endpointId),
          [...new Set(ended.map(({ claim }) => claim.endpointId))],
        )
        for (const { endpointId, failingSince, succeeded } of health) {
          const own = ended
            .filter(({ claim }) => claim.endpointId === endpointId)
            .toSorted((a, b) => a.endedAt.getTime() - b.endedAt.getTime())
          assert.strictEqual(succeeded, own.some(isSuccess))
          const after = own.slice(own.findLastIndex(isSuccess) + 1)
          assert.deepStrictEqual(failingSince, after[0]?.endedAt ?? null)
        }
      }),
  )

  it("an attempt that was not sent says nothing about its endpoint", () => {
    const failed = endedOf({ endpoint: 1, at: 1, status: null, attempt: 1 }, 0)
    const withCode = (code: AttemptError["code"]): EndedAttempt => ({
      ...failed,
      outcome: { ...failed.outcome, error: { code, message: "" } },
    })
    for (const code of ["abandoned", "event_gone", "resources"] as const) {
      assert.deepStrictEqual(endpointHealthOf([withCode(code)]), [], code)
    }
    assert.lengthOf(endpointHealthOf([withCode("connect")]), 1)
  })

  it.effect.prop(
    "only a Failure with a valid lease has a next attempt",
    [Ended, Schema.Boolean],
    ([values, isLeaseValid]) =>
      Effect.sync(() => {
        const ended = endedOf(values, 0)
        const entry = attemptRowOf(ended, isLeaseValid)
        assert.strictEqual(entry.state === "Success", isSuccess(ended))
        assert.strictEqual(entry.nextAttemptAt !== null, isLeaseValid && entry.state === "Failure")
        if (isLeaseValid && !isSuccess(ended))
          assert.strictEqual(entry.state, values.attempt < 6 ? "Failure" : "Failed")
        assert.strictEqual(nextAttemptDueAt(ended) === null, isSuccess(ended) || values.attempt >= 6)
      }),
  )
})

const Names = Schema.Array(Schema.Literals(["*", "A", "B"])).check(Schema.isMaxLength(3))
const Endpoint = Schema.Struct({ organization: between(1, 3), eventNames: Names, createdAt: between(0, 10) })
const Event = Schema.Struct({
  organization: between(1, 3),
  type: Schema.NullOr(Schema.Literals(["A", "B"])),
  at: between(0, 10),
})

describe("subscription matching", () => {
  it.effect.prop(
    "takes the first events, matches each with exactly its endpoints, and stops at the maximum",
    [
      Schema.Array(Event).check(Schema.isMaxLength(10)),
      Schema.Array(Endpoint).check(Schema.isMaxLength(8)),
      between(0, 20),
    ],
    ([events, endpoints, max]) =>
      Effect.sync(() => {
        const entries = events.map(({ at, organization, type }, index) => ({
          organizationId: organizationIdOf(`o${organization}`),
          eventId: `v${index}`,
          rowLocation: `(0,${index})`,
          type,
          occurredAt: type === null ? null : new Date(at),
        }))
        const subscribers = endpoints.map(({ createdAt, eventNames, organization }, index) => ({
          organizationId: organizationIdOf(`o${organization}`),
          id: `e${index}`,
          eventNames,
          createdAt: new Date(createdAt),
        }))
        const { matches, taken } = matchSubscriptions(entries, subscribers, max)
        assert.deepStrictEqual(taken, entries.slice(0, taken.length))
        assert.strictEqual(taken.length > 0, entries.length > 0)
        assert.deepStrictEqual(
          matches.map(({ endpointId, entry }) => `${entry.eventId} ${endpointId}`),
          taken.flatMap((entry) =>
            subscribers
              .filter(
                (subscriber) => subscriber.organizationId === entry.organizationId && isSubscribed(subscriber, entry),
              )
              .map(({ id }) => `${entry.eventId} ${id}`),
          ),
        )
        if (taken.length > 1) assert.isAtMost(matches.length, max)
      }),
  )

  it.effect.prop(
    "an endpoint receives the events that it subscribes to, from its creation on",
    [Endpoint, Event],
    ([{ createdAt, eventNames }, { at, type }]) =>
      Effect.sync(() =>
        assert.strictEqual(
          isSubscribed({ eventNames, createdAt: new Date(createdAt) }, { type, occurredAt: new Date(at) }),
          type !== null && createdAt <= at && eventNames.some((name) => name === "*" || name === type),
        ),
      ),
  )
})

describe("the retry delay of an external provider", () => {
  it.effect.prop("doubles from a second up to five minutes", [between(1, 30_000)], ([tries]) =>
    Effect.sync(() => {
      assert.isAtLeast(retryDelayAfter(tries), 1000)
      assert.isAtMost(retryDelayAfter(tries), 300_000)
      assert.isAtLeast(retryDelayAfter(tries + 1), retryDelayAfter(tries))
    }),
  )
})
