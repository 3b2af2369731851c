import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestService } from "../support/TestService.ts"
import { openSeats } from "./seats.ts"

/**
 * Keeps the database server from analysing tables of this database. The snapshot of an analysis keeps old versions of rows, so that
 * renewals of that moment find no room on their pages.
 */
const withoutAutovacuum = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const tables = yield* sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`
  for (const { name } of tables) yield* sql`ALTER TABLE ${sql(name)} SET (autovacuum_enabled = false)`
})

layer(TestService.separate, { excludeTestServices: true })("the leases of an entitlement with seats", (it) => {
  it.effect(
    "are renewed by thousands without growing their table",
    () =>
      Effect.gen(function* () {
        const holders = 500
        const renewals = 6
        const { acquire } = yield* openSeats(-1)
        const sql = yield* PgClient.PgClient
        yield* withoutAutovacuum
        const all = Effect.forEach(Array.from({ length: holders }), (_, number) => acquire(`holder ${number}`), {
          concurrency: 8,
          discard: true,
        })
        const pages = Effect.map(
          sql<{ heap: number; index: number; seats: number }>`
          SELECT (pg_relation_size('usage_leases') / 8192)::int AS heap, (pg_indexes_size('usage_leases') / 8192)::int AS index,
            (pg_relation_size('usage_seats') / 8192)::int AS seats`,
          ([row]) => row ?? { heap: 0, index: 0, seats: 0 },
        )
        yield* all
        const before = yield* pages
        for (let round = 0; round < renewals; round++) yield* all
        const after = yield* pages
        assert.strictEqual(after.index, before.index, "renewals change no index")
        assert.isAtMost(after.heap, 2 * before.heap + 2)
        // Without room on its pages, each of the 3,000 renewals would add a row: more than 30 pages.
        assert.isAtMost(after.seats, before.seats + 12)
      }),
    120_000,
  )
})
