import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { read } from "../../src/cli/doctor/SettingsCheck.ts"
import { testSql } from "../support/TestDatabase.ts"

const root = resolve(import.meta.dirname, "../..")
const page = readFileSync(join(root, "docs/operating.md"), "utf8")
const section = (title: string) => page.slice(page.indexOf(`\n## ${title}\n`)).split("\n## ")[1] ?? ""

/** The Citus statements of the page, in their order. */
const statements = (name: string) =>
  [...section("Sharding by organization on Citus").matchAll(new RegExp(`${name}\\('(\\w+)'`, "g"))].map(
    (match) => match[1] ?? "",
  )

/** Tables of the exceptions that stay where they are. */
const undistributed = section("Sharding by organization on Citus")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1] ?? ""))

describe("the operator's page", () => {
  it.effect("lists every setting that the service reads, and no other", () =>
    Effect.gen(function* () {
      const { exit, names } = yield* read(ConfigProvider.fromEnvRecord({}))
      assert.isTrue(Exit.isSuccess(exit))
      const listed = section("Settings")
        .split("\n")
        .filter((line) => line.startsWith("| `"))
        .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1] ?? ""))
      assert.sameMembers(listed, names)
    }),
  )

  it("names files that exist", () => {
    // What the operator makes by copying the example.
    const own = "deploy/.env"
    for (const [file] of page.matchAll(/\b(?:deploy|examples)\/[\w./-]*\w/g)) {
      if (file === own) continue
      assert.isTrue(existsSync(join(root, file)), file)
    }
  })

  it.live("distributes every table whose primary key begins with the organization, but the named exceptions", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const keyed = yield* sql<{ name: string }>`
        SELECT class.relname AS name
        FROM pg_constraint k
        JOIN pg_class class ON class.oid = k.conrelid AND class.relnamespace = 'public'::regnamespace AND NOT class.relispartition
        JOIN pg_attribute a ON a.attrelid = class.oid AND a.attname = 'organization_id' AND k.conkey[1] = a.attnum
        WHERE k.contype = 'p'`
      const names = keyed.map(({ name }) => name)
      assert.isAbove(names.length, 25)
      assert.sameMembers(
        [...statements("create_distributed_table"), ...undistributed.filter((name) => names.includes(name))],
        names,
      )
    }).pipe(Effect.provide(testSql)),
  )

  it.live("gives every other table a place: a copy on every node, or the coordinator", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const tables = yield* sql<{ name: string }>`
        SELECT relname AS name FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`
      const placed = new Set([
        ...statements("create_distributed_table"),
        ...statements("create_reference_table"),
        ...undistributed,
      ])
      assert.sameMembers(
        tables.map(({ name }) => name),
        [...placed],
      )
    }).pipe(Effect.provide(testSql)),
  )

  it.live(
    "obeys Citus' rules: references before what refers to them, the organization in every unique and foreign key",
    () =>
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        const order = [...statements("create_reference_table"), ...statements("create_distributed_table")]
        const distributed = new Set(statements("create_distributed_table"))
        const constraints = yield* sql<{
          child: string
          parent: string | null
          columns: ReadonlyArray<string>
          name: string
        }>`
        SELECT child.relname AS child, parent.relname AS parent, k.conname AS name,
          ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = k.conrelid AND attnum = ANY(k.conkey)) AS columns
        FROM pg_constraint k JOIN pg_class child ON child.oid = k.conrelid LEFT JOIN pg_class parent ON parent.oid = k.confrelid
        WHERE child.relnamespace = 'public'::regnamespace AND NOT child.relispartition AND k.contype IN ('f', 'p', 'u')`
        for (const { child, columns, name, parent } of constraints) {
          if (parent !== null && parent !== child && order.includes(child)) {
            assert.isBelow(order.indexOf(parent), order.indexOf(child), `${child} refers to ${parent}`)
            assert.include(order, parent, `${child} refers to ${parent}`)
          }
          if (distributed.has(child) && (parent === null || distributed.has(parent))) {
            assert.include(columns, "organization_id", name)
          }
        }
      }).pipe(Effect.provide(testSql)),
  )
})
