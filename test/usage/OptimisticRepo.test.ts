import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Context, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { accountName } from "../../src/domains/usage/ledger/Account.ts"
import { post } from "../../src/domains/usage/ledger/Posting.ts"
import type { Accounts } from "../../src/domains/usage/ledger/Account.ts"
import { accountsOfSnapshot } from "../../src/domains/usage/ledger/optimistic/OptimisticLedger.ts"
import { commits } from "../../src/infra/database/DedicatedConnections.ts"
import { hasCitus, mayHaveCommitted } from "../../src/kernel/database/Statements.ts"
import type { Fragment } from "effect/sql/Statement"
import { OptimisticRepo } from "../../src/domains/usage/ledger/optimistic/OptimisticRepo.ts"
import { storeAcross } from "../../src/domains/usage/ledger/optimistic/StoreSql.ts"
import * as Sharded from "../../src/domains/usage/sharded/OptimisticRepoSharded.ts"
import { databaseProxy } from "../support/cable.ts"
import { formsOf } from "../support/forms.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const quantity = (value: number) => BigDecimal.fromNumberUnsafe(value)

/** Ways to find and join rows that a test takes from PostgreSQL, so that it plans a statement differently. */
const methods = ["nestloop", "hashjoin", "mergejoin", "material", "seqscan", "indexscan", "bitmapscan"]
const subsetsOfMethods = Array.from({ length: 2 ** methods.length }, (_, bits) =>
  methods.filter((_method, index) => (bits & (1 << index)) !== 0),
)

/** Snapshots of two used totals of an instance. */
const seeTwo = Effect.gen(function* () {
  const shop = yield* openMeteredShop
  const repo = yield* OptimisticRepo
  for (const slug of ["calls", "seats"]) {
    yield* shop.metered(slug, 100)
    yield* shop.report(slug, { value: 1 })
  }
  const { organizationId } = shop.tenant
  const names = ["calls", "seats"].map((entitlement) => ({ organizationId, instance: "prod", entitlement }))
  const at = new Date()
  const { accounts, meters } = accountsOfSnapshot(yield* repo.read(names, at), at)
  const posted = (accountsRead: Accounts) =>
    Array.from(meters.values(), (meter) => {
      const account = accountsRead.get(accountName({ meter, at }))
      if (account === undefined) throw new Error(`${meter.entitlement} was not read`)
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

for (const { form, repository } of formsOf(OptimisticRepo.layer, Sharded.layer)) {
  const services = repository.pipe(
    Layer.provide(commits),
    Layer.provideMerge(testSql),
    Layer.provideMerge(TestService.separate),
  )

  layer(services, { excludeTestServices: true })(`totals that were read without a lock, ${form},`, (it) => {
    it.effect("are stored if they have not changed", () =>
      Effect.gen(function* () {
        const { at, eventsStored, organizationId, postings, repo, used } = yield* seeTwo
        assert.deepStrictEqual([...(yield* repo.store(postings, at))], [organizationId])
        assert.deepStrictEqual(yield* used, [6, 6])
        assert.strictEqual(yield* eventsStored, 4)
      }),
    )

    it.effect("are not stored if one of them has changed, even by a decision only", () =>
      Effect.gen(function* () {
        const { at, eventsStored, organizationId, postings, repo, used } = yield* seeTwo
        const sql = yield* PgClient.PgClient
        yield* sql`UPDATE usage_totals SET decided_at = now() WHERE organization_id = ${organizationId}
        AND entitlement_id = ${postings[1]?.meter.entitlementId ?? ""}`
        assert.strictEqual((yield* repo.store(postings, at)).size, 0)
        assert.deepStrictEqual(yield* used, [1, 1])
        assert.strictEqual(yield* eventsStored, 2)
      }),
    )

    it.effect("are stored for one organization if those of another have changed", () =>
      Effect.gen(function* () {
        const mine = yield* seeTwo
        const theirs = yield* seeTwo
        const sql = yield* PgClient.PgClient
        yield* sql`UPDATE usage_totals SET decided_at = now() WHERE organization_id = ${mine.organizationId}
        AND entitlement_id = ${mine.postings[0]?.meter.entitlementId ?? ""}`
        const [first, ...others] = mine.postings
        const mixed = [...(first === undefined ? [] : [first]), ...theirs.postings, ...others]
        assert.deepStrictEqual([...(yield* mine.repo.store(mixed, mine.at))], [theirs.organizationId])
        assert.deepStrictEqual(yield* mine.used, [1, 1])
        assert.deepStrictEqual(yield* theirs.used, [6, 6])
        assert.deepStrictEqual([yield* mine.eventsStored, yield* theirs.eventsStored], [2, 4])
      }),
    )

    it.effect("are read for several organizations", () =>
      Effect.gen(function* () {
        const mine = yield* seeTwo
        const theirs = yield* seeTwo
        const calls = { instance: "prod", entitlement: "calls" }
        const named = [mine, theirs].map(({ organizationId }) => ({ organizationId, ...calls }))
        const accountsRead = yield* mine.repo.read(
          [...named, { ...calls, organizationId: mine.organizationId, entitlement: "x" }],
          mine.at,
        )
        assert.sameDeepMembers(
          accountsRead.map(({ meter, total }) => [
            meter.organizationId,
            meter.entitlement,
            BigDecimal.format(total?.total.value ?? quantity(0)),
          ]),
          [
            [mine.organizationId, "calls", "1"],
            [theirs.organizationId, "calls", "1"],
          ],
        )
      }),
    )

    it.effect("are not stored, without waiting, while another transaction has locked one of them", () =>
      Effect.gen(function* () {
        const { at, organizationId, postings, repo, used } = yield* seeTwo
        const sql = yield* PgClient.PgClient
        const meanwhile = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT 1 FROM usage_totals WHERE organization_id = ${organizationId} FOR UPDATE`
            return yield* Effect.promise(() => Effect.runPromise(repo.store(postings, at)))
          }),
        )
        assert.strictEqual(meanwhile.size, 0)
        assert.deepStrictEqual(yield* used, [1, 1])
      }),
    )

    it.effect("may be stored if the connection breaks before the response, which differs from a rejection", () =>
      Effect.gen(function* () {
        const { at, eventsStored, organizationId, postings, used } = yield* seeTwo
        const wire = yield* databaseProxy(Redacted.value((yield* TestDatabase).url))
        const far = PgClient.layer({ url: Redacted.make(wire.url), multiplex: true, maxConnections: 1 })
        const services = yield* Layer.build(Layer.fresh(Layer.provide(repository, Layer.provideMerge(commits, far))))
        const repo = Context.get(services, OptimisticRepo)
        // The statement is sent, but its response does not arrive.
        yield* repo.read([{ organizationId, instance: "prod", entitlement: "calls" }], at)
        wire.mute()
        const storing = yield* Effect.forkChild(Effect.exit(repo.store(postings, at)))
        yield* Effect.repeat(eventsStored, { until: (count) => count === 4 })
        wire.cut()
        const exit = yield* Fiber.join(storing)
        assert.isTrue(Exit.isFailure(exit) && mayHaveCommitted(exit.cause))
        assert.deepStrictEqual(yield* used, [6, 6])
      }).pipe(Effect.scoped),
    )

    it.effect("are stored once if the statement is repeated", () =>
      Effect.gen(function* () {
        const { at, postings, repo, used } = yield* seeTwo
        const stored = yield* Effect.all(
          [repo.store(postings, at), repo.store(postings, at), repo.store(postings, at)],
          {
            concurrency: "unbounded",
          },
        )
        assert.strictEqual(stored.filter(({ size }) => size > 0).length, 1)
        assert.deepStrictEqual(yield* used, [6, 6])
      }),
    )

    it.effect("are stored whatever the plan of the statement, which may run a subquery again for each total", () =>
      Effect.gen(function* () {
        const { at, organizationId, postings, repo } = yield* seeTwo
        const sql = yield* PgClient.PgClient
        const onCitus = yield* hasCitus(sql)
        const storedWith = (statement: Fragment, disabled: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            if (onCitus) yield* sql`SET LOCAL citus.propagate_set_commands = 'local'`
            yield* Effect.forEach(disabled, (method) => sql.unsafe(`SET LOCAL enable_${method} = off`))
            yield* sql`${statement}`
            const rows = yield* sql<{ value: number; events: number }>`
            SELECT t.value::int, (SELECT count(*)::int FROM usage_events
              WHERE organization_id = ${organizationId} AND entitlement_id = t.entitlement_id) AS events
            FROM usage_totals t WHERE t.organization_id = ${organizationId} ORDER BY t.entitlement_id`
            // The next plan finds the same totals.
            return yield* Effect.fail(rows)
          }).pipe(sql.withTransaction, Effect.flip)
        const statement = repo.separatesOrganizations
          ? Sharded.storeWithin(sql, organizationId, postings, at)
          : storeAcross(sql, postings, at)
        for (const disabled of subsetsOfMethods) {
          const both = { value: 6, events: 2 }
          assert.deepStrictEqual(yield* storedWith(statement, disabled), [both, both], `without ${disabled.join(", ")}`)
        }
      }),
    )
  })
}
