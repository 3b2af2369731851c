/** The organization is part of every key of a tenant's rows, so a row can never point at another organization's. */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { testSql } from "../support/TestDatabase.ts"

interface Constraint {
  readonly name: string
  readonly child: string
  readonly parent: string | null
  readonly kind: "p" | "u" | "f"
  readonly columns: ReadonlyArray<string>
}

const tenantTables = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const rows = yield* sql<{ name: string }>`
    SELECT relname AS name FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'organization_id'
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attnotnull`
  return new Set(rows.map(({ name }) => name))
})

const constraints = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return yield* sql<Constraint>`
    SELECT k.conname AS name, child.relname AS child, parent.relname AS parent, k.contype AS kind,
      ARRAY(
        SELECT attname::text FROM unnest(k.conkey) WITH ORDINALITY AS one(number, place)
        JOIN pg_attribute ON attrelid = k.conrelid AND attnum = number ORDER BY place
      ) AS columns
    FROM pg_constraint k JOIN pg_class child ON child.oid = k.conrelid LEFT JOIN pg_class parent ON parent.oid = k.confrelid
    WHERE child.relnamespace = 'public'::regnamespace AND k.contype IN ('f', 'p', 'u')`
})

describe("the tables of organizations", () => {
  it.live("have the organization first in their primary keys", () =>
    Effect.gen(function* () {
      const tables = yield* tenantTables
      const keys = (yield* constraints).filter(({ child, kind }) => kind === "p" && tables.has(child))
      assert.isAbove(keys.length, 40)
      assert.deepStrictEqual(
        keys.filter(({ columns }) => columns[0] !== "organization_id"),
        [],
      )
    }).pipe(Effect.provide(testSql)),
  )

  it.live("have the organization in each unique key, and in each reference to a row of an organization", () =>
    Effect.gen(function* () {
      const tables = yield* tenantTables
      const without = (yield* constraints).filter(
        ({ child, columns, kind, parent }) =>
          kind !== "p" &&
          tables.has(child) &&
          (parent === null || tables.has(parent)) &&
          !columns.includes("organization_id"),
      )
      assert.deepStrictEqual(without, [])
    }).pipe(Effect.provide(testSql)),
  )
})
