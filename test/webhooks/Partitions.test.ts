import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { engine } from "../../src/domains/webhooks/Layer.ts"
import * as metrics from "../../src/domains/webhooks/Metrics.ts"
import { DAYS_AHEAD, headroomOf, Partitions } from "../../src/domains/webhooks/history/Partitions.ts"
import { dayOf, PartitionsRepo } from "../../src/domains/webhooks/history/PartitionsRepo.ts"
import { isOnCitus } from "../support/Cluster.ts"
import { testServices } from "../support/TestService.ts"
import { directLiveness, Receiver, receiverSender } from "./EngineFixture.ts"

const START = Date.UTC(2026, 0, 31, 9)
const today = dayOf(new Date(START))

const node = engine.pipe(
  Layer.provide(directLiveness),
  Layer.provide(receiverSender),
  Layer.provide(Receiver.layer),
  Layer.provideMerge(testServices),
)

layer(node, { excludeTestServices: true })("partitions of the history", (it) => {
  const at = <A, E, R>(time: number, work: Effect.Effect<A, E, R>) =>
    Effect.andThen(TestClock.setTime(time), work).pipe(Effect.provide(TestClock.layer()))

  it.effect("are created a week ahead by one of several concurrent nodes", () =>
    Effect.gen(function* () {
      const repo = yield* PartitionsRepo
      const { maintain } = yield* Partitions
      yield* at(
        START,
        Effect.all(
          Array.from({ length: 6 }, () => maintain),
          { concurrency: "unbounded" },
        ),
      )
      yield* at(START, maintain)
      assert.deepStrictEqual(
        yield* repo.listDays,
        Array.from({ length: DAYS_AHEAD + 1 }, (_, index) => today + index),
      )
      assert.strictEqual((yield* Metric.value(metrics.partitionHeadroom)).value, DAYS_AHEAD)
    }),
  )

  it.effect("are counted as headroom up to the first day that is missing, also if creating it fails", () =>
    Effect.gen(function* () {
      for (const [days, headroom] of [
        [[], 0],
        [[today], 0],
        [[today - 1], 0],
        [[today + 1, today + 2], 0],
        [[today, today + 1, today + 3], 1],
        [[today + 2, today + 1, today, today - 1], 2],
      ] as const) {
        assert.strictEqual(headroomOf(days, today), headroom, days.join())
      }
      const sql = yield* PgClient.PgClient
      const { maintain } = yield* Partitions
      const later = START + 100 * 86_400_000
      const taken = `webhook_attempts_${new Date(later + 86_400_000).toISOString().slice(0, 10).replaceAll("-", "")}`
      yield* sql.unsafe(`CREATE VIEW ${taken} AS SELECT 1`)
      yield* Effect.exit(at(later, maintain))
      assert.strictEqual((yield* Metric.value(metrics.partitionHeadroom)).value, 0)
      yield* sql.unsafe(`DROP VIEW ${taken}`)
      yield* at(later, maintain)
      assert.strictEqual((yield* Metric.value(metrics.partitionHeadroom)).value, DAYS_AHEAD)
    }),
  )

  it.effect("are dropped when all their attempts exceed the retention period", () =>
    Effect.gen(function* () {
      const repo = yield* PartitionsRepo
      const sql = yield* PgClient.PgClient
      const { maintain } = yield* Partitions
      yield* at(START, maintain)
      // At nine in the morning the first day's attempts are between 30 days minus 9 hours and 30 days plus 15 hours
      // old.
      yield* at(START + 30 * 86_400_000, maintain)
      assert.strictEqual((yield* repo.listDays)[0], today)
      yield* at(START + 31 * 86_400_000, maintain)
      assert.strictEqual((yield* repo.listDays)[0], today + 1)
      const tables = yield* sql`SELECT 1 FROM pg_class WHERE relname = 'webhook_attempts_20260131'`
      assert.strictEqual(tables.length, 0)
    }),
  )

  it.effect(
    "concurrent nodes drop all old partitions and leave none to each other",
    () =>
      Effect.gen(function* () {
        const repo = yield* PartitionsRepo
        const { ensure, maintain } = yield* Partitions
        for (let round = 0; round < 5; round++) {
          yield* ensure(Array.from({ length: 20 }, (_, day) => new Date(day * 86_400_000)))
          yield* at(START + 31 * 86_400_000, Effect.all([maintain, maintain, maintain], { concurrency: "unbounded" }))
          assert.strictEqual((yield* repo.listDays)[0], today + 1)
        }
      }),
    // On Citus it creates 150 partitions in four shards each.
    isOnCitus ? 150_000 : undefined,
  )

  it.effect("a missing partition is created once by concurrent nodes", () =>
    Effect.gen(function* () {
      const repo = yield* PartitionsRepo
      const { ensure } = yield* Partitions
      const instants = [new Date(0), new Date(86_400_000)]
      yield* Effect.all(
        Array.from({ length: 4 }, () => ensure(instants)),
        { concurrency: "unbounded" },
      )
      assert.includeMembers([...(yield* repo.listDays)], [0, 1])
    }),
  )
})
