import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { migrationsTable } from "../../src/infra/database/Migrations.ts"
import { testSql } from "../support/TestDatabase.ts"

describe("the schema", () => {
  it.live("says of each table what a row is and what adds rows", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const rows = yield* sql<{ name: string; comment: string | null }>`
        SELECT relname AS name, obj_description(oid, 'pg_class') AS comment FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
          AND relname <> ${migrationsTable} AND relname <> 'citus_commits'`
      assert.isAbove(rows.length, 60)
      const silent = rows.filter(({ comment }) => !/\. .*\b(row|grows|empty)\b.*\.$|one row\.$/i.test(comment ?? ""))
      assert.deepStrictEqual(silent, [])
    }).pipe(Effect.provide(testSql)),
  )
})
