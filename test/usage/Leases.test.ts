import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Caller } from "../../src/kernel/contract/Caller.ts"
import { Leases } from "../../src/domains/usage/leases/Service.ts"
import { LeasesRepo } from "../../src/domains/usage/leases/Repo.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { openSeats } from "./seats.ts"

// From the third time on, an unchanged check has a cached answer.
const OFTEN = 3

layer(TestService.separate, { excludeTestServices: true })("the leases of an entitlement with seats", (it) => {
  it.effect("are as many as the limit and its overage, and a holder renews instead of taking another seat", () =>
    Effect.gen(function* () {
      const { acquire, ask, call, path } = yield* openSeats(2, 50)
      const first = yield* acquire("anna", { metadata: { host: "one" } })
      assert.strictEqual(first.status, 201, first.text)
      assert.strictEqual(first.headers.get("location"), `/api${path}/${first.body.id}`)
      assert.strictEqual(Date.parse(first.body.expiresAt) - Date.parse(first.body.acquiredAt), 300_000)
      const again = yield* acquire("anna", { ttlSeconds: 600 })
      assert.strictEqual(again.status, 200)
      assert.deepStrictEqual(
        [again.body.id, again.body.acquiredAt, again.body.metadata],
        [first.body.id, first.body.acquiredAt, { host: "one" }],
      )
      assert.isAtLeast(Date.parse(again.body.renewedAt), Date.parse(first.body.renewedAt))
      assert.strictEqual((yield* acquire("bob")).status, 201)
      const third = yield* acquire("cleo")
      assert.strictEqual(third.status, 201)
      const refused = yield* acquire("dan")
      assert.deepStrictEqual([refused.status, refused.body.code], [409, "AcquireLease.LimitReached"])
      assert.include(refused.body.detail, "3 hold one")
      assert.strictEqual((yield* acquire("cleo")).status, 200)

      const answer = yield* ask()
      assert.deepStrictEqual(
        [answer.allowed, answer.reason, answer.limit, answer.usage, answer.remaining, answer.overage],
        [false, "LIMIT_REACHED", 2, 3, 0, 1],
      )
      const listed = yield* call("GET", path)
      assert.deepStrictEqual(
        listed.body.items.map(({ holder }: { holder: string }) => holder),
        ["cleo", "bob", "anna"],
      )
      const own = yield* call("GET", `${path}?holder=anna`)
      assert.deepStrictEqual(own.body.items, [again.body])

      assert.strictEqual((yield* call("DELETE", `${path}/${third.body.id}`)).status, 204)
      const gone = yield* call("DELETE", `${path}/${third.body.id}`)
      assert.deepStrictEqual([gone.status, gone.body.code], [404, "Lease.NotFound"])
      assert.strictEqual((yield* acquire("dan")).status, 201)
    }),
  )

  it.effect("show in every answer how many hold one", () =>
    Effect.gen(function* () {
      const { acquire, ask, call, metered } = yield* openSeats(5)
      yield* metered("calls", 10)
      for (const [index, holder] of ["a", "b", "c"].entries()) {
        yield* acquire(holder)
        for (let times = 0; times < OFTEN; times++) {
          const { checks } = (yield* call("POST", "/instances/prod/check", {
            checks: [{ entitlement: "calls" }, { entitlement: "editors", requested: 2 }, { entitlement: "calls" }],
          })).body
          assert.deepStrictEqual(
            checks.map(({ allowed, usage }: { allowed: boolean; usage: number }) => [usage, allowed]),
            [
              [0, true],
              [index + 1, index < 3],
              [0, true],
            ],
          )
        }
      }
      const explained = yield* ask({ explain: true })
      assert.strictEqual(explained.usage, 3)
      assert.strictEqual((yield* ask({ at: new Date(Date.now() + 3_600_000).toISOString() })).usage, 0)
      const entry = yield* call("GET", "/instances/prod/entitlements/editors/usage")
      assert.deepStrictEqual(entry.body.usageValue, { type: "number", value: 3, event_count: 0 })
      const list = yield* call("GET", "/instances/prod/entitlements/usage")
      assert.deepStrictEqual(
        list.body.items.map(({ usageValue }: { usageValue: { value: number } }) => usageValue.value).toSorted(),
        [0, 3],
      )
      const flag = yield* call("POST", "/ofrep/v1/evaluate/flags/entitlement.editors", {
        context: { targetingKey: "prod" },
      })
      assert.strictEqual(flag.body.value, 2)
    }),
  )

  it.effect("are neither reported nor consumed nor reserved, and have no reset period", () =>
    Effect.gen(function* () {
      const { call, check, entitlement, report, tenant } = yield* openSeats(5)
      const { core } = yield* TestService
      for (const body of [{ value: 1 }, { value: 1, transactionId: "t" }, { value: 1, behavior: "set" }]) {
        const refused = yield* report("editors", body)
        assert.deepStrictEqual([refused.status, refused.body.code], [409, "ReportUsage.NotReportable"])
      }
      const consumed = yield* check([{ entitlement: "editors" }])
      assert.deepStrictEqual([consumed.status, consumed.body.errors[0].location], [422, "body.checks[0].entitlement"])
      const reserved = yield* call("POST", "/instances/prod/entitlements/editors/reservations", { quantity: 1 })
      assert.deepStrictEqual([reserved.status, reserved.body.errors[0].location], [422, "path.entitlementSlug"])
      const event = {
        specversion: "1.0",
        id: "1",
        source: "/t",
        type: "editors",
        subject: "prod",
        data: { value: 1 },
      }
      const alone = yield* call("POST", "/usage-events", event)
      assert.deepStrictEqual([alone.status, alone.body.code], [422, "ReportUsage.NotReportable"])
      const batch = yield* core("POST", "/usage-events", {
        token: tenant.token,
        headers: { "content-type": "application/cloudevents-batch+json" },
        body: [event],
      })
      assert.strictEqual(batch.body.results[0].code, "ReportUsage.NotReportable")
      const monthly = yield* call("POST", "/entitlements", {
        name: "Viewers",
        type: "NUMBER",
        aggregationMethod: "CONCURRENT",
        resetPeriod: "MONTH",
      })
      assert.deepStrictEqual([monthly.status, monthly.body.errors[0].location], [422, "body.resetPeriod"])
      yield* entitlement("calls")
      const other = yield* call("POST", "/instances/prod/entitlements/calls/leases", { holder: "anna" })
      assert.deepStrictEqual([other.status, other.body.errors[0].location], [422, "path.entitlementSlug"])
    }),
  )

  it.effect("are free exactly at their end, without any job", () =>
    Effect.gen(function* () {
      const { acquire, ask } = yield* openSeats(1)
      const lease = (yield* acquire("anna", { ttlSeconds: 10 })).body
      const before = new Date(Date.parse(lease.expiresAt) - 1).toISOString()
      for (let times = 0; times < OFTEN; times++) {
        assert.strictEqual((yield* ask({ at: before })).usage, 1)
        assert.strictEqual((yield* ask({ at: lease.expiresAt })).usage, 0)
      }
    }),
  )

  it.effect("of a holder who comes late are new ones, and never revive a seat that was given away", () =>
    Effect.gen(function* () {
      const { tenant } = yield* openSeats(1)
      const leases = yield* Leases
      const caller = Layer.succeed(Caller, {
        organizationId: tenant.organizationId,
        actor: { id: tenant.organizationId, name: "tests" },
        credentialId: "tests",
        scopes: ["*:*"],
      } as unknown as Caller["Service"])
      const acquire = (holder: string) => leases.acquire("prod", "editors", { holder, ttlSeconds: 10 })
      const outcome = (holder: string) =>
        Effect.match(acquire(holder), {
          onSuccess: ({ isNew }) => (isNew ? "new" : "renewed"),
          onFailure: () => "refused",
        })
      yield* Effect.gen(function* () {
        const start = Date.parse("2030-01-01T00:00:00Z")
        const at = (millis: number) => TestClock.setTime(start + millis)
        yield* at(0)
        assert.strictEqual(yield* outcome("anna"), "new")
        yield* at(9_999)
        assert.strictEqual(yield* outcome("bob"), "refused")
        yield* at(10_000)
        assert.strictEqual(yield* outcome("bob"), "new")
        // The clock of this node is behind: anna's lease would still be live by it.
        yield* at(9_990)
        assert.strictEqual(yield* outcome("anna"), "refused")
        assert.strictEqual(yield* outcome("bob"), "renewed")
        yield* at(30_000)
        assert.strictEqual(yield* outcome("anna"), "new")
        // Renewed in its last millisecond, it ends 10 s later. At that very time it is no longer live.
        yield* at(39_999)
        assert.strictEqual(yield* outcome("anna"), "renewed")
        yield* at(49_999)
        assert.strictEqual(yield* outcome("anna"), "new")
      }).pipe(Effect.provide(Layer.merge(caller, TestClock.layer())))
    }),
  )

  it.effect("that were acquired last are not renewed if the limit falls", () =>
    Effect.gen(function* () {
      const { acquire, call } = yield* openSeats(3)
      for (const holder of ["anna", "bob", "cleo"]) assert.strictEqual((yield* acquire(holder)).status, 201)
      yield* call("PUT", "/licenses/pro/entitlements/editors", { value: 2 })
      const renewed = yield* Effect.forEach(["cleo", "bob", "anna"], (holder) =>
        Effect.map(acquire(holder), ({ status }) => status),
      )
      assert.deepStrictEqual(renewed, [409, 200, 200])
      yield* call("PUT", "/licenses/pro/entitlements/editors", { value: -1 })
      assert.strictEqual((yield* acquire("cleo")).status, 200)
      assert.strictEqual((yield* acquire("dan")).status, 201)
      yield* call("PATCH", "/instances/prod", { endLicenseDate: new Date(Date.now() - DAY_MS).toISOString() })
      const ended = yield* acquire("anna")
      assert.deepStrictEqual([ended.status, ended.body.code], [409, "AcquireLease.LimitReached"])
      assert.include(ended.body.detail, "ended on")
    }),
  )

  it.effect("are never more than the limit, whoever asks at the same time", () =>
    Effect.gen(function* () {
      const { acquire, ask } = yield* openSeats(7)
      const holders = Array.from({ length: 40 }, (_, number) => `holder ${number % 30}`)
      const answers = yield* Effect.forEach(holders, (holder) => acquire(holder), { concurrency: "unbounded" })
      assert.strictEqual(answers.filter(({ status }) => status === 201).length, 7)
      assert.isTrue(answers.every(({ status }) => [200, 201, 409].includes(status)))
      assert.strictEqual((yield* ask()).usage, 7)
    }),
  )

  it.effect("that ended are deleted by the sweeper after their day", () =>
    Effect.gen(function* () {
      const { acquire, tenant } = yield* openSeats(5)
      const sql = yield* PgClient.PgClient
      yield* acquire("anna", { ttlSeconds: 10 })
      const repo = yield* LeasesRepo
      const rows = Effect.map(
        sql`SELECT 1 FROM usage_leases WHERE organization_id = ${tenant.organizationId}`,
        (found) => found.length,
      )
      yield* repo.deleteEnded(new Date(), 1_000)
      assert.strictEqual(yield* rows, 1)
      yield* repo.deleteEnded(new Date(Date.now() + DAY_MS + 10_000), 1_000)
      assert.strictEqual(yield* rows, 0)
    }),
  )
})
