import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { migrations } from "../../migrations/index.ts"
import { migrateWith } from "../../src/infra/database/Migrations.ts"
import { emptyDatabase } from "../cli/database.ts"

const LOG_MIGRATION = "0042_event_hashes"

const before = Object.fromEntries(
  Object.entries(migrations).filter(([name]) => name < LOG_MIGRATION),
) as unknown as typeof migrations

describe("the upgrade to the event log", () => {
  it.live("begins each tree at the first event that is stored, behind the last gap", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      yield* Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* migrateWith(before)
        const logs: ReadonlyArray<readonly [positions: ReadonlyArray<number>, head: number, base: number]> = [
          [[1, 2, 3], 3, 0],
          [[6, 7, 8], 8, 5],
          [[2, 5, 6, 9], 9, 8],
          [[2, 5, 6], 6, 4],
          [[], 7, 7],
        ]
        const expected: Array<readonly [string, number, number]> = []
        for (const [positions, head, base] of logs) {
          const organizationId = randomUUID()
          expected.push([organizationId, base, 1])
          yield* sql`INSERT INTO event_streams (organization_id, head) VALUES (${organizationId}, ${head})`
          for (const position of [...positions, null]) {
            yield* sql`
              INSERT INTO events (organization_id, id, position, type, occurred_at, actor, data)
              VALUES (${organizationId}, ${randomUUID()}, ${position}, 'CUSTOMER_DELETED', ${new Date()}, '{}', '{}')`
          }
        }
        yield* migrateWith(migrations)
        const found = yield* sql<{ id: string; base: number; log: number }>`
          SELECT organization_id AS id, base::int AS base, log FROM event_streams`
        const byId = new Map(found.map(({ base, id, log }) => [id, [base, log]]))
        assert.deepStrictEqual(
          expected.map(([id]) => [id, ...(byId.get(id) ?? [])]),
          expected.map((row) => [...row]),
        )
      }).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 1 })))
    }).pipe(Effect.scoped),
  )
})
