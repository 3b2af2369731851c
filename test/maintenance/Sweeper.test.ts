import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Latch, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { HealthParts } from "../../src/kernel/ports/HealthChecks.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { Retention, Sweeper } from "../../src/domains/maintenance/Service.ts"
import * as Worker from "../../src/domains/maintenance/Worker.ts"
import { TestService } from "../support/TestService.ts"
import { at, DAY, expiryEvents, inTime, issue, keysExpiring, sweep } from "./sweeping.ts"

layer(TestService.layer, { excludeTestServices: true })("the sweeper", (it) => {
  it.effect("events stay for ever, unless the installation says how long", () =>
    inTime((then) =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        // Ids never go back in time within a process: later than whatever the other tests made.
        const LATE = 36_500 * DAY
        yield* then(LATE)
        const { organizationId } = yield* (yield* TestService).tenant()
        yield* issue({ organizationId, expiresAt: at(LATE + 1000) })
        yield* then(LATE + 1000)
        yield* sweep
        const told = () => Effect.map(expiryEvents(organizationId), (events) => events.length)
        assert.strictEqual(yield* told(), 1)
        // As if it were delivered: what deliveries wait for stays.
        yield* sql`DELETE FROM webhook_outbox WHERE organization_id = ${organizationId}`
        yield* then(LATE + 5000 * DAY)
        yield* sweep
        assert.strictEqual(yield* told(), 1)
        const kept = { retiredTokens: Duration.days(90), events: Option.some(Duration.days(365)) }
        const limited = Layer.fresh(Sweeper.layer).pipe(Layer.provide(Layer.succeed(Retention, kept)))
        yield* then(LATE + 365 * DAY + 1000)
        yield* sweep.pipe(Effect.provide(limited))
        assert.strictEqual(yield* told(), 1)
        yield* then(LATE + 365 * DAY + 1001)
        yield* sweep.pipe(Effect.provide(limited))
        assert.strictEqual(yield* told(), 0)
      }),
    ),
  )

  it.effect("a reservation that was made eight days ago, and so was over for seven, goes", () =>
    inTime((then) =>
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
        const held = yield* post("/instances/one/entitlements/seats/reservations", { quantity: 2 })
        assert.strictEqual(held.status, 201, held.text)
        yield* sql`UPDATE usage_reservations SET created_at = ${at(0)}, expires_at = ${at(300_000)} WHERE id = ${held.body.id}`
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

  it.effect("what expires goes at its instant and not before, whatever its table", () =>
    inTime((then) =>
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

  it.effect("many rows go in batches, each once, on several nodes at the same time", () =>
    inTime((then) =>
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

  it.effect("does not wait for a row that somebody holds", () =>
    inTime((then) =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const transactions = yield* Transactions
        const keys = yield* keysExpiring(at(0), 3)
        yield* then(1)
        const held = yield* Latch.make()
        const done = yield* Latch.make()
        const holder = yield* transactions
          .run(
            Effect.gen(function* () {
              yield* sql`SELECT 1 FROM idempotency_keys WHERE key = '1' FOR UPDATE`
              yield* held.open
              yield* done.await
            }),
          )
          .pipe(Effect.forkChild)
        yield* held.await
        yield* sweep
        assert.strictEqual(yield* keys, 1)
        yield* done.open
        yield* Fiber.join(holder)
        yield* sweep
        assert.strictEqual(yield* keys, 0)
      }),
    ),
  )

  it.effect("one kind that fails keeps no other from being done, and is done by the next sweep", () =>
    inTime((then) =>
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
    "its worker sweeps at the start, then every minute, goes on after a failure, and tells in the health how it went",
    () =>
      inTime(() =>
        Effect.gen(function* () {
          const sql = yield* PgClient.PgClient
          // A minute may pass before the worker has begun to wait for it, so another one follows.
          const gone = (mayAdjust: boolean, keys: Effect.Effect<number | undefined, unknown>) =>
            Effect.gen(function* () {
              for (let attempt = 0; attempt < 500 && (yield* keys) !== 0; attempt++) {
                if (attempt % 100 === 99 && mayAdjust) yield* TestClock.adjust("1 minute")
                yield* TestClock.withLive(Effect.sleep("5 millis"))
              }
              assert.strictEqual(yield* keys, 0)
            })
          // The sweep ends a little after the rows are gone.
          const told = Effect.fnUntraced(function* (status: "up" | "down") {
            const part = yield* Effect.fromNullishOr((yield* HealthParts).get("sweeper"))
            for (let attempt = 0; attempt < 500 && (yield* part).status !== status; attempt++) {
              yield* TestClock.withLive(Effect.sleep("5 millis"))
            }
            const state = yield* part
            assert.strictEqual(state.status, status)
            return state
          })
          const first = yield* keysExpiring(at(0), 2)
          yield* Layer.build(Worker.layer)
          yield* gone(false, first)
          yield* told("up")
          const second = yield* keysExpiring(at(1), 2)
          yield* sql`ALTER TABLE usage_event_ids RENAME TO usage_event_ids_away`
          yield* TestClock.adjust("1 minute")
          yield* gone(true, second)
          assert.include((yield* told("down"))["reason"], "usage_event_ids")
          const third = yield* keysExpiring(at(1), 2)
          yield* TestClock.adjust("1 minute")
          yield* gone(true, third)
          yield* sql`ALTER TABLE usage_event_ids_away RENAME TO usage_event_ids`
          const fourth = yield* keysExpiring(at(1), 2)
          yield* TestClock.adjust("1 minute")
          yield* gone(true, fourth)
          assert.isString((yield* told("up"))["lastSweep"])
        }).pipe(Effect.scoped, Effect.provideService(HealthParts, new Map())),
      ),
  )
})
