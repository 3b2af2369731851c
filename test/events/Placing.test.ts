import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { EventsRepo } from "../../src/domains/events/Repo.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { arriving } from "../support/arriving.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"

allowInventedEvents()

layer(TestService.separate, { excludeTestServices: true })("placing events", (it) => {
  it.effect("reads only the new ones, also by a plan from when the stream was short", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const sql = yield* PgClient.PgClient
      const repo = yield* EventsRepo
      const transactions = yield* Transactions
      const { organizationId } = yield* tenant()
      const add = (count: number) =>
        arriving(
          sql,
          sql`
            INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
            SELECT ${organizationId}::uuid, gen_random_uuid(), 'COMPONENT_CREATED', now(), ${sql.json(platformIdentity)}, '{}'
            FROM generate_series(1, ${count}::int)`,
        )
      const place = Effect.andThen(
        repo.lockOrdering(organizationId),
        repo.assignPositions([organizationId], { isSealed: false }),
      )
      const rowsRead = Effect.map(
        sql<{ count: number }>`
          SELECT (seq_tup_read + idx_tup_fetch)::int AS count FROM pg_stat_xact_user_tables WHERE relname = 'events'`,
        ([row]) => row?.count ?? 0,
      )
      // One transaction, hence one connection. PostgreSQL keeps a plan after five executions.
      yield* transactions.run(
        Effect.gen(function* () {
          for (let time = 0; time < 10; time++) yield* Effect.andThen(add(1), place)
          for (let time = 0; time < 3; time++) {
            yield* add(2_000)
            const before = yield* rowsRead
            yield* place
            assert.isAtMost((yield* rowsRead) - before, 2 * 2_000)
          }
          const [placed] = yield* sql<{ count: number; last: number }>`
            SELECT count(*)::int AS count, max(position)::int AS last FROM event_positions WHERE organization_id = ${organizationId}`
          assert.isAtLeast(placed?.count ?? 0, 6_010)
          assert.strictEqual(placed?.last, placed?.count)
        }),
      )
    }),
  )
})
