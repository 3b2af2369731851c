import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Effect, Layer } from "effect"
import { accountName, post } from "../../src/usage/Account.ts"
import type { Accounts } from "../../src/usage/Account.ts"
import { accountsSeen } from "../../src/usage/Seen.ts"
import { Commits } from "../../src/kernel/SharedConnections.ts"
import { SnapshotRepo } from "../../src/usage/SnapshotRepo.ts"
import { testSql } from "../support/TestDatabase.ts"
import { TestService } from "../support/TestService.ts"
import { openMetered } from "./Metered.ts"

const quantity = (value: number) => BigDecimal.fromNumberUnsafe(value)

/** Two counters of an instance that were used, as they are seen now. */
const seeTwo = Effect.gen(function* () {
  const shop = yield* openMetered
  const repo = yield* SnapshotRepo
  for (const slug of ["calls", "seats"]) {
    yield* shop.metered(slug, 100)
    yield* shop.report(slug, { value: 1 })
  }
  const { organizationId } = shop.tenant
  const names = ["calls", "seats"].map((entitlement) => ({ instance: "prod", entitlement }))
  const at = new Date()
  const { accounts, meters } = accountsSeen(yield* repo.read(organizationId, names, at), at)
  const posted = (seen: Accounts) =>
    Array.from(meters.values(), (meter) => {
      const account = seen.get(accountName({ meter, at }))
      if (account === undefined) throw new Error(`${meter.entitlement} was not seen`)
      const event = { timestamp: at, behavior: "append", value: quantity(5), uniqueKey: null, metadata: null } as const
      return post(account, { ...event, reportedBy: { id: "00000000-0000-7000-8000-000000000001", name: "test" } })
        .account
    })
  const used = Effect.all([shop.used("calls"), shop.used("seats")])
  const eventsStored = Effect.map(
    Effect.flatMap(PgClient.PgClient, (sql) =>
      Effect.orDie(sql<{ count: number }>`SELECT count(*)::int AS count FROM usage_events
        WHERE organization_id = ${organizationId}`),
    ),
    ([row]) => row?.count,
  )
  return { ...shop, at, repo, postings: posted(accounts), used, eventsStored, organizationId }
})

const services = SnapshotRepo.layer.pipe(
  Layer.provide(Commits.layer),
  Layer.provideMerge(testSql),
  Layer.provideMerge(TestService.layer),
)

layer(services, { excludeTestServices: true })("totals that were read without a lock", (it) => {
  it.effect("take what was posted to them as long as nobody has touched them", () =>
    Effect.gen(function* () {
      const { at, eventsStored, postings, repo, used } = yield* seeTwo
      assert.isTrue(yield* repo.store(postings, at))
      assert.deepStrictEqual(yield* used, [6, 6])
      assert.strictEqual(yield* eventsStored, 4)
    }),
  )

  it.effect("take nothing of it once one of them has changed, not even by being decided on", () =>
    Effect.gen(function* () {
      const { at, eventsStored, organizationId, postings, repo, used } = yield* seeTwo
      const sql = yield* PgClient.PgClient
      yield* sql`UPDATE usage_totals SET decided_at = now() WHERE organization_id = ${organizationId}
        AND entitlement_id = ${postings[1]?.meter.entitlementId ?? ""}`
      assert.isFalse(yield* repo.store(postings, at))
      assert.deepStrictEqual(yield* used, [1, 1])
      assert.strictEqual(yield* eventsStored, 2)
    }),
  )

  it.effect("take nothing, and do not wait, while somebody else holds one of them", () =>
    Effect.gen(function* () {
      const { at, organizationId, postings, repo, used } = yield* seeTwo
      const sql = yield* PgClient.PgClient
      const meanwhile = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT 1 FROM usage_totals WHERE organization_id = ${organizationId} FOR UPDATE`
          return yield* Effect.promise(() => Effect.runPromise(repo.store(postings, at)))
        }),
      )
      assert.isFalse(meanwhile)
      assert.deepStrictEqual(yield* used, [1, 1])
    }),
  )

  it.effect("take it once, however often it is stored", () =>
    Effect.gen(function* () {
      const { at, postings, repo, used } = yield* seeTwo
      const stored = yield* Effect.all([repo.store(postings, at), repo.store(postings, at), repo.store(postings, at)], {
        concurrency: "unbounded",
      })
      assert.strictEqual(stored.filter((isStored) => isStored).length, 1)
      assert.deepStrictEqual(yield* used, [6, 6])
    }),
  )
})
