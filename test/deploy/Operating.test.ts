import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as SettingsCheck from "../../src/cli/doctor/SettingsCheck.ts"
import { testSql } from "../support/TestDatabase.ts"

const root = resolve(import.meta.dirname, "../..")
const read = (page: string) => readFileSync(join(root, page), "utf8")

/** The text under a heading, down to the next heading of any level. */
const section = (page: string, heading: string) => {
  const [, text] = read(page).split(`\n${heading}\n`)
  if (text === undefined) throw new Error(`${page} has no heading "${heading}"`)
  return text.split(/\n##+ /)[0] ?? ""
}

const citus = section("docs/scaling.md", "## Sharding by organization on Citus")

/** The Citus statements of the page, in their order. */
const statements = (name: string) =>
  [...citus.matchAll(new RegExp(`${name}\\('(\\w+)'`, "g"))].map((match) => match[1] ?? "")

/** Tables of the exceptions, which are not distributed. */
const undistributed = citus
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1] ?? ""))

describe("the operator's pages", () => {
  it.effect("list every setting that the service reads, and no other", () =>
    Effect.gen(function* () {
      const { exit, names } = yield* SettingsCheck.readSettings(ConfigProvider.fromEnvRecord({}))
      assert.isTrue(Exit.isSuccess(exit))
      const listed = section("docs/operating.md", "### Settings")
        .split("\n")
        .filter((line) => line.startsWith("| `"))
        .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map((match) => match[1] ?? ""))
      assert.sameMembers(listed, names)
    }),
  )

  it("name only files that exist", () => {
    // The operator creates this one from the example.
    const own = "deploy/.env"
    for (const page of ["docs/operating.md", "docs/scaling.md", "docs/client.md"]) {
      const files = [...read(page).matchAll(/\b(?:deploy|examples)\/[\w./-]*\w/g)].map(([file]) => file)
      for (const file of files.filter((name) => name !== own)) assert.isTrue(existsSync(join(root, file)), file)
    }
  })

  it.live("distribute every table whose primary key begins with the organization, except the named ones", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const keyed = yield* sql<{ name: string }>`
        SELECT DISTINCT coalesce(whole.relname, class.relname) AS name
        FROM pg_constraint k
        JOIN pg_class class ON class.oid = k.conrelid AND class.relnamespace = 'public'::regnamespace
        -- Of usage events, only partitions have the key.
        LEFT JOIN pg_inherits ON inhrelid = class.oid
        LEFT JOIN pg_class whole ON whole.oid = inhparent
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

  it.live("assign every other table to all nodes or to the coordinator", () =>
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
    "follow the rules of Citus: referenced tables come first, and unique and foreign keys contain the organization",
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
