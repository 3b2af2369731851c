import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { tables } from "../../migrations/tables.ts"
import { migrationsTable } from "../../src/infra/database/Migrations.ts"
import { testSql } from "../support/TestDatabase.ts"

const migrations = resolve(import.meta.dirname, "../../migrations")
const baseline = join(migrations, "baseline")

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

  it.live("is listed with its owners and places: what belongs to an organization is with its organization", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const rows = yield* sql<{ name: string; isOfOrganization: boolean }>`
        SELECT relname AS name, EXISTS (
            SELECT 1 FROM pg_attribute WHERE attrelid = class.oid AND attname = 'organization_id' AND attnotnull
          ) AS "isOfOrganization"
        FROM pg_class class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
          AND relname <> ${migrationsTable} AND relname <> 'citus_commits'`
      assert.sameMembers(
        tables.map(({ name }) => name),
        rows.map(({ name }) => name),
      )
      for (const { name, placement, removal } of tables) {
        const { isOfOrganization } = rows.find((row) => row.name === name) ?? {}
        if (placement === "distributed") assert.isTrue(isOfOrganization, `${name} cannot be distributed`)
        if (isOfOrganization === true) assert.notStrictEqual(removal, "never", `rows stay in ${name}`)
      }
    }).pipe(Effect.provide(testSql)),
  )

  it("has each table in the file of its owner, or in a later migration", () => {
    for (const { name, owner } of tables) {
      const files = readdirSync(baseline).filter((file) => file.startsWith(owner))
      const later = readdirSync(migrations).filter((file) => /^\d{4}_/.test(file))
      const texts = [
        ...files.map((file) => readFileSync(join(baseline, file), "utf8")),
        ...later.map((file) => readFileSync(join(migrations, file), "utf8")),
      ]
      assert.isTrue(
        texts.some((text) => new RegExp(`table\\(\\s*"${name}"`).test(text)),
        `${name} of ${owner}`,
      )
    }
  })
})
