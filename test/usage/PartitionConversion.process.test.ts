import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { migrations } from "../../migrations/index.ts"
import {
  abandonConversion,
  conversionState,
  convertUsageEvents,
} from "../../src/domains/usage/partitions/Conversion.ts"
import { migrateWith } from "../../src/infra/database/Migrations.ts"
import { emptyDatabase } from "../cli/database.ts"
import { start } from "../support/ServiceProcess.ts"
import { withReason } from "../support/skipped.ts"
import { whyNotPartitioned } from "./partitioned.ts"

const before = Object.fromEntries(
  Object.entries(migrations).filter(([name]) => name < "0044_usage_partitions"),
) as unknown as typeof migrations

const METERS = 20
const EVENTS_OF_METER = 500

/** A database of the release before with 10,000 events of the last year. */
const filled = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  yield* migrateWith(before)
  const periodStart = new Date(Date.UTC(2020, 0, 1))
  const meters = Array.from({ length: METERS }, () => ({
    organization_id: randomUUID(),
    instance_id: randomUUID(),
    entitlement_id: randomUUID(),
    period_start: periodStart,
    value: EVENTS_OF_METER,
    sum: EVENTS_OF_METER,
    event_count: EVENTS_OF_METER,
    value_count: EVENTS_OF_METER,
    last_at: new Date(),
  }))
  for (const meter of meters) yield* sql`INSERT INTO usage_totals ${sql.insert(meter)}`
  yield* sql`
    INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior, value,
      reported_at, reported_by, transaction_id)
    SELECT organization_id, instance_id, entitlement_id, period_start, number, now() - number * interval '17 hours', 'append', 1,
      now(), '{}', 'old ' || number
    FROM usage_totals, generate_series(1, ${EVENTS_OF_METER}::int) AS number`
  return meters
})

type Meters = Effect.Success<typeof filled>

/** Counts, voids and reads usage by statements that the release before has too. Each checks that it sees all events. */
const openTraffic = (meters: Meters) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const counted = new Set<string>()
    const voided = new Set<string>()
    let reads = 0
    let longest = 0
    const timed = <A, E, R>(statement: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const started = performance.now()
        const result = yield* statement
        longest = Math.max(longest, performance.now() - started)
        return result
      })
    const ofMeter = (turn: number) => {
      const { entitlement_id, instance_id, organization_id } = meters[turn % METERS] as Meters[number]
      return sql`organization_id = ${organization_id} AND instance_id = ${instance_id} AND entitlement_id = ${entitlement_id}`
    }
    const count = (turn: number) =>
      Effect.gen(function* () {
        const id = `new ${turn}`
        const rows = yield* timed(sql`
          WITH total AS (
            UPDATE usage_totals SET event_count = event_count + 1, value = value + 1, sum = sum + 1,
              value_count = value_count + 1
            WHERE ${ofMeter(turn)} RETURNING *
          )
          INSERT INTO usage_events (organization_id, instance_id, entitlement_id, period_start, ordinal, timestamp, behavior,
            value, reported_at, reported_by, transaction_id)
          SELECT organization_id, instance_id, entitlement_id, period_start, event_count,
            now() - (${turn % 35}::int * interval '1 day'), 'append', 1, now(), '{}', ${id} FROM total
          RETURNING ordinal`)
        assert.strictEqual(rows.length, 1)
        counted.add(id)
      })
    const voidOne = (turn: number) =>
      Effect.gen(function* () {
        const ordinal = 1 + (Math.floor(turn / METERS) % EVENTS_OF_METER)
        const rows = yield* timed(sql`
          WITH gone AS (
            UPDATE usage_events SET voided_at = now() WHERE ${ofMeter(turn)} AND ordinal = ${ordinal} AND voided_at IS NULL
            RETURNING value
          )
          UPDATE usage_totals SET value = usage_totals.value - gone.value, voided_count = voided_count + 1
          FROM gone WHERE ${ofMeter(turn)} RETURNING 1`)
        if (rows.length === 1) voided.add(`${turn % METERS} ${ordinal}`)
      })
    const read = (turn: number) =>
      Effect.gen(function* () {
        const [row] = yield* timed(sql<{ expected: number; stored: number }>`
          SELECT event_count::int AS expected, (
            SELECT count(*)::int FROM usage_events e WHERE e.organization_id = t.organization_id
              AND e.instance_id = t.instance_id AND e.entitlement_id = t.entitlement_id
          ) AS stored FROM usage_totals t WHERE ${ofMeter(turn)}`)
        assert.strictEqual(row?.stored, row?.expected)
        reads++
      })
    let turns = 0
    let isStopped = false
    const client = (step: (turn: number) => Effect.Effect<unknown, unknown>) =>
      Effect.repeat(
        Effect.suspend(() => step(turns++)),
        { until: () => isStopped },
      )
    const fibers = yield* Effect.forEach([count, count, count, voidOne, read], (step) =>
      Effect.forkScoped(client(step)),
    )
    return {
      counted,
      voided,
      longest: () => longest,
      reads: () => reads,
      /** Waits until this many more events were counted. Fails if a statement of the traffic failed. */
      goesOn: (more: number) =>
        Effect.suspend(() => {
          const enough = counted.size + more
          return Effect.raceFirst(
            Effect.sync(() => counted.size >= enough).pipe(
              Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("5 millis") }),
              Effect.timeout("60 seconds"),
            ),
            Effect.raceAllFirst(fibers.map(Fiber.join)),
          )
        }),
      /** Ends each client after its statement. */
      stop: Effect.suspend(() => {
        isStopped = true
        return Effect.forEach(fibers, Fiber.join, { discard: true })
      }),
    }
  })

const assertNothingLost = (counted: ReadonlySet<string>, voided: ReadonlySet<string>) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const [found] = yield* sql`
      SELECT count(*)::int AS stored, count(DISTINCT (organization_id, ordinal))::int AS ordinals,
        count(DISTINCT transaction_id) FILTER (WHERE transaction_id LIKE 'new %')::int AS counted,
        count(*) FILTER (WHERE transaction_id LIKE 'new %')::int AS once, count(voided_at)::int AS voided
      FROM usage_events`
    const all = METERS * EVENTS_OF_METER + counted.size
    assert.deepStrictEqual(found, {
      stored: all,
      ordinals: all,
      counted: counted.size,
      once: counted.size,
      voided: voided.size,
    })
    const ids = yield* sql<{ id: string }>`
      SELECT transaction_id AS id FROM usage_events WHERE transaction_id LIKE 'new %'`
    assert.deepStrictEqual(new Set(ids.map(({ id }) => id)), new Set(counted))
    const wrong = yield* sql`
      SELECT 1 FROM usage_totals t JOIN (
        SELECT organization_id, count(*) AS count, sum(value) FILTER (WHERE voided_at IS NULL) AS sum, max(ordinal) AS last
        FROM usage_events GROUP BY 1
      ) e USING (organization_id) WHERE (t.event_count, t.value, t.event_count) IS DISTINCT FROM (e.count, e.sum, e.last)`
    assert.strictEqual(wrong.length, 0)
    assert.isTrue((yield* conversionState)?.isPartitioned)
  })

const onDatabase = (url: Redacted.Redacted) => ({
  SERVICE_DATABASE_URL: Redacted.value(url),
  SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
})

const named = withReason("keyshelf migrate and usage events of the release before", whyNotPartitioned)

describe.skipIf(whyNotPartitioned !== undefined)(named, { timeout: 120_000 }, () => {
  it.live("puts them into partitions while usage is counted, voided and read, and loses or doubles none", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const env = onDatabase(url)
      yield* Effect.gen(function* () {
        const traffic = yield* openTraffic(yield* filled)
        yield* traffic.goesOn(200)
        // Two at once: a step that the other one has taken is not taken again.
        const runs = yield* Effect.all(
          [start(["migrate"], env), start(["migrate"], env)].map((run) => Effect.flatMap(run, ({ ended }) => ended)),
          { concurrency: 2 },
        )
        for (const { code, output } of runs) assert.strictEqual(code, 0, output)
        assert.include(runs.map(({ output }) => output).join(""), "Usage events are in partitions.")
        yield* traffic.goesOn(200)
        yield* traffic.stop
        assert.isAbove(traffic.reads(), 0)
        assert.isAbove(traffic.voided.size, 0)
        yield* assertNothingLost(traffic.counted, traffic.voided)
        const again = yield* (yield* start(["migrate"], env)).ended
        assert.notInclude(again.output, "Usage events")
      }).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 6 })))
    }).pipe(Effect.scoped),
  )

  it.live("waits for a long reader of the events without stopping usage, also after it was killed", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const env = onDatabase(url)
      yield* Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const traffic = yield* openTraffic(yield* filled)
        yield* migrateWith(migrations)
        assert.isFalse((yield* conversionState)?.isPartitioned)
        const begun = (process: { readonly output: () => string }) =>
          Effect.sync(() => process.output().includes("Usage events become partitions")).pipe(
            Effect.repeat({ until: (found) => found, schedule: Schedule.spaced("5 millis") }),
            Effect.timeout("30 seconds"),
          )
        const second = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT count(*) FROM usage_events`
            const killed = yield* start(["migrate"], env)
            yield* begun(killed)
            yield* traffic.goesOn(300)
            killed.process.kill("SIGKILL")
            yield* killed.ended
            const second = yield* start(["migrate"], env)
            yield* begun(second)
            yield* traffic.goesOn(300)
            assert.isNull(second.process.exitCode)
            return second
          }),
        )
        const { code, output } = yield* second.ended
        assert.strictEqual(code, 0, output)
        yield* traffic.goesOn(100)
        yield* traffic.stop
        yield* assertNothingLost(traffic.counted, traffic.voided)
        // A statement waits for a lock of 100 ms at most, and for its turn on a busy machine.
        assert.isBelow(traffic.longest(), 5000)
      }).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 8 })))
    }).pipe(Effect.scoped),
  )

  it.live("is done once by many nodes at the same time, and leaves no boundary behind", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 4; round++) {
        const url = yield* emptyDatabase
        const client = PgClient.layer({ url, maxConnections: 1 })
        yield* Effect.andThen(filled, migrateWith(migrations)).pipe(Effect.provide(client))
        const converted = yield* Effect.forEach(
          Array.from({ length: 8 }, (_, node) => node),
          (node) =>
            Effect.delay(
              convertUsageEvents(() => Effect.void),
              node * round * 3,
            ).pipe(Effect.provide(client, { local: true })),
          { concurrency: "unbounded" },
        )
        assert.isTrue(converted.every((done) => done))
        yield* Effect.gen(function* () {
          const sql = yield* PgClient.PgClient
          yield* assertNothingLost(new Set(), new Set())
          assert.deepStrictEqual(yield* sql`SELECT 1 FROM pg_constraint WHERE conname = 'usage_events_boundary'`, [])
        }).pipe(Effect.provide(client))
      }
    }).pipe(Effect.scoped),
  )

  it.live("is taken back if it was not finished before its boundary", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      yield* Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* filled
        yield* migrateWith(migrations)
        const begin = (days: number) => sql`
          DO $$ BEGIN EXECUTE format('ALTER TABLE usage_events DROP CONSTRAINT IF EXISTS usage_events_boundary, ADD CONSTRAINT '
            'usage_events_boundary CHECK (timestamp < %L) NOT VALID', now() + ${sql.literal(String(days))} * interval '1 day'); END $$`
        const isBegun = Effect.gen(function* () {
          const state = yield* conversionState
          assert.isDefined(state)
          yield* abandonConversion(state)
          return (yield* conversionState)?.constraint !== null
        })
        yield* begin(15)
        assert.isTrue(yield* isBegun)
        yield* begin(13)
        assert.isFalse(yield* isBegun)
        yield* begin(13)
        assert.isTrue(yield* convertUsageEvents(() => Effect.void))
        yield* assertNothingLost(new Set(), new Set())
      }).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 1 })))
    }).pipe(Effect.scoped),
  )
})
