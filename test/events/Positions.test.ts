/** Positions and leaves of events: one row for each event, written once. The event's own row is never written again. */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { LogKeeper } from "../../src/domains/audit/log/LogKeeper.ts"
import { pageOf } from "../../src/domains/events/log/PagesSql.ts"
import { arriving } from "../support/arriving.ts"
import { isOnCitus } from "../support/Cluster.ts"
import { runPlanned } from "../support/plannedNodes.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"

allowInventedEvents()

const ACTORS = ["0199aaaa-0000-7000-8000-000000000000", "0199bbbb-0000-7000-8000-000000000000"]

/** An organization with many events of few names, and how its database counts writes. */
const streamOf = Effect.fnUntraced(function* (count: number) {
  const { core, tenant } = yield* TestService
  const sql = yield* PgClient.PgClient
  const { organizationId, token } = yield* tenant()
  const add = arriving(
    sql,
    sql`
      INSERT INTO events (organization_id, id, type, resource, owner, occurred_at, actor, data)
      SELECT ${organizationId}::uuid, gen_random_uuid(), CASE WHEN number % 100 = 0 THEN 'RELEASE_CREATED' ELSE 'COMPONENT_CREATED' END,
        'r' || number % 500, CASE WHEN number % 2 = 0 THEN 'half' ELSE 'o' || number % 500 END, '2026-01-01', json_build_object('id', (${ACTORS}::text[])[1 + (number % 50 = 0)::int], 'name', 'a')::jsonb,
        json_build_object('id', 'r' || number % 500)
      FROM generate_series(1, ${count}::int) AS number`,
  )
  return { add, core, organizationId, sql, token }
})

interface Writes {
  readonly inserted: number
  readonly updated: number
}

/** The rows that a transaction wrote in a table. */
const writesIn = (sql: PgClient.PgClient, table: string) =>
  Effect.map(
    sql<Writes>`
      SELECT n_tup_ins::int AS inserted, n_tup_upd::int AS updated FROM pg_stat_xact_user_tables WHERE relname = ${table}`,
    ([row]) => row ?? { inserted: 0, updated: 0 },
  )

layer(TestService.separate, { excludeTestServices: true })("the positions of events", (it) => {
  it.effect.skipIf(isOnCitus)(
    withReason(
      "are one row for each event, inserted once with its leaf, and no event is written again",
      isOnCitus ? "Citus counts on its workers" : undefined,
    ),
    () =>
      Effect.gen(function* () {
        const { add, organizationId, sql } = yield* streamOf(600)
        const { step } = yield* LogKeeper
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* add
            const before = yield* Effect.forEach(["events", "event_positions"], (table) => writesIn(sql, table))
            yield* step
            const [events, positions] = yield* Effect.forEach(["events", "event_positions"], (table) =>
              writesIn(sql, table),
            )
            assert.deepStrictEqual(events, before[0])
            assert.strictEqual(positions?.updated, 0)
            const [placed] = yield* sql<{ count: number; leaves: number; sealed: number }>`
              SELECT count(*)::int AS count, count(leaf)::int AS leaves,
                (SELECT sealed_to::int FROM event_streams WHERE organization_id = ${organizationId}) AS sealed
              FROM event_positions WHERE organization_id = ${organizationId}`
            assert.isAtLeast(placed?.count ?? 0, 600)
            assert.deepStrictEqual(placed, {
              count: placed?.count ?? 0,
              leaves: placed?.count ?? 0,
              sealed: placed?.count ?? 0,
            })
            assert.isAtLeast(positions?.inserted ?? 0, placed?.count ?? 0)
          }),
        )
        const [written] = yield* sql<{ versions: number }>`
          SELECT count(DISTINCT xmin::text)::int AS versions FROM events
          WHERE organization_id = ${organizationId} AND occurred_at = '2026-01-01'`
        assert.strictEqual(written?.versions, 1)
        assert.deepStrictEqual(yield* sql`SELECT 1 FROM event_arrivals WHERE organization_id = ${organizationId}`, [])
      }),
  )

  it.effect("of the logs of many organizations are assigned and sealed together, up to the nodes of their trees", () =>
    Effect.gen(function* () {
      const streams = yield* Effect.forEach([300, 1, 1_200, 20], (count) => streamOf(count))
      const { step } = yield* LogKeeper
      for (const { add } of streams) yield* add
      yield* Effect.repeat(step, { while: (more) => more })
      for (const { core, organizationId, sql, token } of streams) {
        const [tree] = yield* sql<{ size: number; nodes: number; head: number }>`
          SELECT sealed_to::int AS size, head::int AS head, (
            SELECT count(*)::int FROM event_hashes WHERE organization_id = ${organizationId} AND level = 8) AS nodes
          FROM event_streams WHERE organization_id = ${organizationId}`
        assert.strictEqual(tree?.size, tree?.head)
        assert.strictEqual(tree?.nodes, Math.floor((tree?.size ?? 0) / 256))
        assert.strictEqual((yield* core("GET", "/events/checkpoint", { token })).status, 200)
      }
    }),
  )

  it.effect("that a reader assigned have their leaves, and the sweeper adds them to the tree", () =>
    Effect.gen(function* () {
      const { add, core, organizationId, sql, token } = yield* streamOf(700)
      const { step } = yield* LogKeeper
      yield* add
      yield* core("GET", "/events", { token })
      const state = Effect.map(
        sql<{ head: number; leaves: number; sealed: number; nodes: number }>`
          SELECT head::int AS head, sealed_to::int AS sealed, (
            SELECT count(leaf)::int FROM event_positions WHERE organization_id = ${organizationId}) AS leaves, (
            SELECT count(*)::int FROM event_hashes WHERE organization_id = ${organizationId}) AS nodes
          FROM event_streams WHERE organization_id = ${organizationId}`,
        ([row]) => row,
      )
      const read = yield* state
      assert.deepStrictEqual([read?.leaves, read?.sealed, read?.nodes], [read?.head, 0, 0])
      yield* Effect.repeat(step, { while: (more) => more })
      const sealed = yield* state
      assert.deepStrictEqual([sealed?.leaves, sealed?.sealed, sealed?.nodes], [read?.head, read?.head, 2])
    }),
  )

  it.effect.skipIf(isOnCitus)(
    withReason(
      "are found by the index of each filter, however long the stream is",
      isOnCitus ? "Citus plans on its workers" : undefined,
    ),
    () =>
      Effect.gen(function* () {
        const { add, core, organizationId, sql, token } = yield* streamOf(20_000)
        yield* add
        yield* core("GET", "/events", { token })
        yield* sql`ANALYZE event_positions, events`
        const since = new Date("2025-12-31")
        for (const [filter, index] of [
          [{}, "event_positions_pkey"],
          [{ types: ["RELEASE_CREATED"] }, "event_positions_type"],
          [{ resources: ["r7"] }, "event_positions_resource"],
          [{ resources: ["o7"] }, "event_positions_owner"],
          // Half of all events, and few of them.
          [{ resources: ["half"] }, "event_positions_owner"],
          [{ resources: ["r7", "o9", "nothing"] }, "event_positions_owner"],
          [{ actor: ACTORS[1] ?? "" }, "event_positions_actor"],
          [{ actor: ACTORS[1] ?? "", types: ["RELEASE_CREATED"] }, "event_positions_actor"],
          [{ since, types: ["RELEASE_CREATED"] }, "event_positions_event"],
        ] as const) {
          for (const order of ["ASC", "DESC"]) {
            const page = pageOf(sql, organizationId, filter, {
              condition: order === "ASC" ? sql`> 0` : sql`< 1000000`,
              order: sql.literal(order),
              count: 20,
            })
            const { indexes, mostRows } = yield* runPlanned(sql, page)
            const what = JSON.stringify([filter, order])
            assert.include(indexes, index, what)
            assert.isAtMost(mostRows, 100, what)
          }
        }
      }),
  )
})
