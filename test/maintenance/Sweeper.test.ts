import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Latch, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { HealthChecks } from "../../src/kernel/ports/HealthChecks.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import * as Worker from "../../src/domains/maintenance/Worker.ts"
import { TestService } from "../support/TestService.ts"
import { at, DAY, expiryEvents, withTestClock, issue, keysExpiring, sweep, sweeperWith } from "./sweeping.ts"

layer(TestService.separate, { excludeTestServices: true })("the sweeper", (it) => {
  it.effect("events are retained forever unless a retention period is configured", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        // Ids are monotonic within a process, so this time must be later than that of all other tests.
        const LATE = 36_500 * DAY
        yield* then(LATE)
        const { organizationId } = yield* (yield* TestService).tenant()
        yield* issue({ organizationId, expiresAt: at(LATE + 1000) })
        yield* then(LATE + 1000)
        yield* sweep
        const expiryCount = () => Effect.map(expiryEvents(organizationId), (events) => events.length)
        assert.strictEqual(yield* expiryCount(), 1)
        // Simulate the delivery: a pending event would be retained.
        yield* sql`DELETE FROM webhook_outbox WHERE organization_id = ${organizationId}`
        yield* then(LATE + 5000 * DAY)
        yield* sweep
        assert.strictEqual(yield* expiryCount(), 1)
        const periods = {
          retiredTokens: Duration.days(90),
          events: Option.some(Duration.days(365)),
          usageEvents: Option.none(),
        }
        const limited = sweeperWith(periods)
        // Whole days in UTC are deleted.
        yield* then(LATE + 366 * DAY - 1)
        yield* sweep.pipe(Effect.provide(limited))
        assert.strictEqual(yield* expiryCount(), 1)
        yield* then(LATE + 366 * DAY)
        yield* sweep.pipe(Effect.provide(limited))
        assert.strictEqual(yield* expiryCount(), 0)
      }),
    ),
  )

  it.effect("a reservation is deleted eight days after its creation", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const { core, tenant } = yield* TestService
        const { token } = yield* tenant()
        const post = (path: string, body: object) => core("POST", path, { token, body })
        yield* post("/entitlements", { name: "Seats", slug: "seats", type: "NUMBER" })
        yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
        yield* post("/licenses/pro/entitlements", { entitlementSlug: "seats", value: 5 })
        yield* post("/customers", { name: "Globex", slug: "globex" })
        const instance = yield* post("/instances", {
          name: "one",
          slug: "one",
          customerSlug: "globex",
          licenseSlug: "pro",
          startLicenseDate: "2026-01-01T00:00:00Z",
          endLicenseDate: "2099-01-01T00:00:00Z",
        })
        const reserved = yield* post("/instances/one/entitlements/seats/reservations", { quantity: 2 })
        assert.strictEqual(reserved.status, 201, reserved.text)
        yield* sql`UPDATE usage_reservations SET created_at = ${at(0)}, expires_at = ${at(300_000)} WHERE id = ${reserved.body.id}`
        const count = Effect.map(
          sql`SELECT 1 FROM usage_reservations WHERE instance_id = ${instance.body.id}`,
          (rows) => rows.length,
        )
        yield* then(8 * DAY)
        yield* sweep
        assert.strictEqual(yield* count, 1)
        yield* then(8 * DAY + 1)
        yield* sweep
        assert.strictEqual(yield* count, 0)
      }),
    ),
  )

  it.effect("expired rows of any table are deleted at their expiry time, not before", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const { organizationId } = yield* (yield* TestService).tenant()
        yield* sql`INSERT INTO usage_event_ids (organization_id, source, event_id, created_at, expires_at)
          VALUES (${organizationId}, 'meter', '1', ${at(0)}, ${at(1000)})`
        const keys = yield* keysExpiring(at(1000), 3)
        yield* then(999)
        const early = yield* sweep
        assert.strictEqual(early["usage_event_ids"], 0)
        assert.strictEqual(yield* keys, 3)
        yield* then(1000)
        const due = yield* sweep
        assert.strictEqual(due["usage_event_ids"], 1)
        assert.strictEqual(yield* keys, 0)
      }),
    ),
  )

  it.effect("concurrent sweeps delete many rows in batches, each row once", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        yield* sweep
        const keys = yield* keysExpiring(at(0), 4_500)
        yield* then(1)
        const nodes = yield* Effect.all([sweep, sweep, sweep], { concurrency: 3 })
        assert.strictEqual(yield* keys, 0)
        assert.strictEqual(
          nodes.reduce((sum, swept) => sum + (swept["idempotency_keys"] ?? 0), 0),
          4_500,
        )
      }),
    ),
  )

  it.effect("a sweep skips rows locked by another transaction", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const transactions = yield* Transactions
        const keys = yield* keysExpiring(at(0), 3)
        yield* then(1)
        const locked = yield* Latch.make()
        const done = yield* Latch.make()
        const holder = yield* transactions
          .run(
            Effect.gen(function* () {
              yield* sql`SELECT 1 FROM idempotency_keys WHERE key = '1' FOR UPDATE`
              yield* locked.open
              yield* done.await
            }),
          )
          .pipe(Effect.forkChild)
        yield* locked.await
        yield* sweep
        assert.strictEqual(yield* keys, 1)
        yield* done.open
        yield* Fiber.join(holder)
        yield* sweep
        assert.strictEqual(yield* keys, 0)
      }),
    ),
  )

  it.effect("a failed retention job does not stop the others, and runs again in the next sweep", () =>
    withTestClock((then) =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const keys = yield* keysExpiring(at(0), 3)
        const { organizationId } = yield* (yield* TestService).tenant()
        yield* issue({ organizationId, expiresAt: at(1) })
        yield* then(1)
        yield* sql`ALTER TABLE idempotency_keys RENAME TO idempotency_keys_away`
        const swept = yield* sweep
        assert.isUndefined(swept["idempotency_keys"])
        assert.strictEqual(swept["token_expiries"], 1)
        yield* sql`ALTER TABLE idempotency_keys_away RENAME TO idempotency_keys`
        yield* sweep
        assert.strictEqual(yield* keys, 0)
      }),
    ),
  )

  it.effect(
    "the worker sweeps at startup and every minute, continues after a failure, and reports its state in health",
    () =>
      withTestClock(() =>
        Effect.gen(function* () {
          const sql = yield* PgClient.PgClient
          // The clock may advance before the worker starts to wait, so this advances it again.
          const waitUntilDeleted = (mayAdjust: boolean, keys: Effect.Effect<number | undefined, unknown>) =>
            Effect.gen(function* () {
              for (let attempt = 0; attempt < 500 && (yield* keys) !== 0; attempt++) {
                if (attempt % 100 === 99 && mayAdjust) yield* TestClock.adjust("1 minute")
                yield* TestClock.withLive(Effect.sleep("5 millis"))
              }
              assert.strictEqual(yield* keys, 0)
            })
          // The sweep ends shortly after the rows are deleted.
          const waitForStatus = Effect.fnUntraced(function* (status: "up" | "down") {
            const part = yield* Effect.fromNullishOr((yield* HealthChecks).get("sweeper"))
            for (let attempt = 0; attempt < 500 && (yield* part).status !== status; attempt++) {
              yield* TestClock.withLive(Effect.sleep("5 millis"))
            }
            const state = yield* part
            assert.strictEqual(state.status, status)
            return state
          })
          const first = yield* keysExpiring(at(0), 2)
          yield* Layer.build(Worker.layer)
          yield* waitUntilDeleted(false, first)
          yield* waitForStatus("up")
          const second = yield* keysExpiring(at(1), 2)
          yield* sql`ALTER TABLE usage_event_ids RENAME TO usage_event_ids_away`
          yield* TestClock.adjust("1 minute")
          yield* waitUntilDeleted(true, second)
          assert.include((yield* waitForStatus("down"))["reason"], "usage_event_ids")
          const third = yield* keysExpiring(at(1), 2)
          yield* TestClock.adjust("1 minute")
          yield* waitUntilDeleted(true, third)
          yield* sql`ALTER TABLE usage_event_ids_away RENAME TO usage_event_ids`
          const fourth = yield* keysExpiring(at(1), 2)
          yield* TestClock.adjust("1 minute")
          yield* waitUntilDeleted(true, fourth)
          assert.isString((yield* waitForStatus("up"))["lastSweep"])
        }).pipe(Effect.scoped, Effect.provideService(HealthChecks, new Map())),
      ),
  )
})
