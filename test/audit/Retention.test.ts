import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { LogReader } from "../../src/domains/audit/log/LogReader.ts"
import { EventRetention } from "../../src/domains/audit/Retention.ts"
import { CurrentRetentionPeriods } from "../../src/kernel/ports/RetentionPeriods.ts"
import { now } from "../../src/kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import { openLog } from "./support.ts"

allowInventedEvents()

const DAY = 86_400_000
const RETAINED_DAYS = 30
// Later than all that the service does by the real time.
const START = Date.UTC(2060, 0, 1)

const retention = Layer.fresh(EventRetention.layer).pipe(
  Layer.provide(
    Layer.succeed(CurrentRetentionPeriods, {
      retiredTokens: Duration.days(90),
      events: Option.some(Duration.days(RETAINED_DAYS)),
      usageEvents: Option.none(),
    }),
  ),
)

/** Runs the job of retention once. Returns how many events it deleted. */
const prune = Effect.gen(function* () {
  const { jobs } = yield* EventRetention
  let done = 0
  for (const { step } of jobs) done += yield* step(yield* now, 1_000)
  return done
}).pipe(Effect.provide(retention))

const findings = (organizationId: OrganizationId, savedNotes: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const { verification } = yield* (yield* LogReader).verify({ organizationId, keys: [], savedNotes })
    return [...verification.findings()]
  })

const at = (day: number, millis = 0) => new Date(START + day * DAY + millis)
const then = (day: number, millis = 0) => TestClock.setTime(START + day * DAY + millis)

const simulated = <A, E, R>(work: Effect.Effect<A, E, R>) => work.pipe(Effect.provide(TestClock.layer()))

layer(TestService.separate, { excludeTestServices: true })("retention of events", (it) => {
  it.effect("deletes whole days from the start of the log, says so in the log, and leaves cursors valid", () =>
    simulated(
      Effect.gen(function* () {
        const { addMany, checkpoint, emit, get, organizationId, positions } = yield* openLog
        yield* then(0)
        yield* checkpoint
        for (const day of [0, 1, 2]) {
          yield* then(day)
          yield* addMany(3, at(day, 1))
          yield* checkpoint
        }
        const { nextCursor } = (yield* get("/events?limit=200")).body
        const before = yield* positions
        yield* then(1 + RETAINED_DAYS, DAY - 1)
        yield* prune
        const last = before.at(-1)!
        // What is left: the last six events, and the record of retention.
        assert.deepStrictEqual(yield* positions, [last - 5, last - 4, last - 3, last - 2, last - 1, last, last + 1])
        const { items } = (yield* get(`/events?cursor=${nextCursor}`)).body
        assert.deepStrictEqual(
          items.map(({ data, type }: { data: { before: string; count: number; upTo: number }; type: string }) => [
            type,
            data.upTo,
            data.before,
            data.count,
          ]),
          [["EVENTS_PRUNED", last - 6, at(1).toISOString(), before.length - 6]],
        )
        assert.deepStrictEqual(yield* findings(organizationId), [])
        // Nothing more is deleted that day, and nothing but the record would be for a long time.
        assert.strictEqual(yield* prune, 0)
        yield* then(3 + RETAINED_DAYS)
        assert.strictEqual(yield* prune, 6)
        for (const day of [100, 200, 300]) {
          yield* then(day)
          assert.strictEqual(yield* prune, 0)
        }
        yield* emit("later")
        assert.deepStrictEqual(
          (yield* get(`/events?type=COMPONENT_CREATED`)).body.items.map(({ data }: { data: object }) => data),
          [{ name: "later" }],
        )
        assert.deepStrictEqual(yield* findings(organizationId), [])
      }),
    ),
  )

  it.effect("stops at the first event that waits for its delivery", () =>
    simulated(
      Effect.gen(function* () {
        const { addMany, checkpoint, get, organizationId, sql } = yield* openLog
        yield* then(0)
        yield* addMany(9, at(0))
        yield* checkpoint
        const [, , waiting] = (yield* get("/events?type=COMPONENT_CREATED")).body.items
        yield* sql`
          INSERT INTO webhook_outbox (organization_id, event_id, due_at) VALUES (${organizationId}, ${waiting.id}, ${at(0)})`
        yield* then(RETAINED_DAYS + 5)
        yield* prune
        const rest = Effect.map(get("/events?type=COMPONENT_CREATED"), ({ body }) => body.items)
        assert.deepStrictEqual((yield* rest)[0].id, waiting.id)
        assert.strictEqual((yield* rest).length, 7)
        yield* sql`DELETE FROM webhook_outbox WHERE organization_id = ${organizationId}`
        yield* prune
        assert.deepStrictEqual(yield* rest, [])
        assert.deepStrictEqual(yield* findings(organizationId), [])
      }),
    ),
  )

  it.effect("deletes nothing of a log that was rewritten, and goes on with the others", () =>
    simulated(
      Effect.gen(function* () {
        const [rewritten, intact] = [yield* openLog, yield* openLog]
        yield* then(0)
        for (const log of [rewritten, intact]) {
          yield* log.addMany(9, at(0))
          yield* log.checkpoint
        }
        const { organizationId, sql } = rewritten
        yield* sql`UPDATE event_positions SET leaf = ${Buffer.alloc(32)} WHERE organization_id = ${organizationId} AND position = 3`
        const before = yield* rewritten.positions
        yield* then(RETAINED_DAYS + 5)
        assert.strictEqual((yield* Effect.exit(prune))._tag, "Failure")
        assert.deepStrictEqual((yield* rewritten.positions).slice(0, before.length), before)
        assert.isBelow((yield* intact.positions).length, 5)
        yield* sql`UPDATE organizations SET removed_at = ${at(0)} WHERE id = ${organizationId}`
      }),
    ),
  )

  it.effect(
    "goes on for 300 days without a finding, and every saved checkpoint stays true",
    () =>
      simulated(
        Effect.gen(function* () {
          const { addMany, checkpoint, organizationId, positions } = yield* openLog
          const sql = yield* PgClient.PgClient
          const saved: Array<string> = []
          for (let day = 0; day < 300; day++) {
            yield* then(day, 1)
            yield* addMany(1 + (day % 3), at(day, 1))
            yield* checkpoint
            yield* then(day, DAY / 2)
            yield* prune
            if (day % 20 === 0) {
              saved.push((yield* checkpoint).note)
              assert.deepStrictEqual(yield* findings(organizationId, saved), [])
            }
          }
          // No more than the retained days are left, without a gap.
          const left = yield* positions
          assert.isBelow(left.length, (RETAINED_DAYS + 2) * 4)
          left.forEach((position, number) => assert.strictEqual(position, left[0]! + number))
          yield* sql`DELETE FROM events WHERE organization_id = ${organizationId} AND id = (
            SELECT event_id FROM event_positions WHERE organization_id = ${organizationId} AND position = ${left[0]!})`
          assert.deepStrictEqual(
            (yield* findings(organizationId, saved)).map(({ kind }) => kind),
            ["EVENT_MISSING"],
          )
        }),
      ),
    120_000,
  )
})
