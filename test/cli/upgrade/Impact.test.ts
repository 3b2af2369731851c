/** What migrations declare to cost, compared with what they do. */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { impacts } from "../../../migrations/impacts.ts"
import { migrations } from "../../../migrations/index.ts"
import { migrateWith } from "../../../src/infra/database/Migrations.ts"
import { measuring, undeclared } from "../../../src/cli/upgrade/MigrationCosts.ts"
import type { MigrationCost } from "../../../src/cli/upgrade/MigrationCosts.ts"
import { emptyDatabase } from "../database.ts"
import { busy, shop } from "./busy.ts"

const names = Object.keys(migrations)
const later = names.slice(1)

const until = (name: string) => Object.fromEntries(Object.entries(migrations).filter(([each]) => each <= name))

/** Applies the migrations up to one, in a transaction of their own, and returns their costs. */
const apply = Effect.fnUntraced(function* (name: string) {
  const costs: Array<MigrationCost> = []
  yield* migrateWith(measuring(until(name), (cost) => costs.push(cost)))
  return costs
})

const onEmptyDatabase = <A, E>(work: Effect.Effect<A, E, PgClient.PgClient | SqlClient.SqlClient>) =>
  Effect.flatMap(emptyDatabase, (url) => Effect.provide(work, PgClient.layer({ url, maxConnections: 2 }))).pipe(
    Effect.scoped,
  )

/** A database with the schema of the baseline and rows. */
const filled = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  yield* apply("0001_baseline")
  for (const statement of [...shop, ...busy({ instances: 20, events: 200 })]) yield* sql.unsafe(statement)
  yield* sql`ANALYZE`
})

describe("the impact of migrations", { timeout: 120_000 }, () => {
  it("is declared by each one after the baseline", () => {
    const missing = later.filter((name) => impacts[name] === undefined)
    const how = missing.map(
      (name) => `migrations/${name}.ts exports no impact, or migrations/impacts.ts does not list it`,
    )
    assert.deepStrictEqual(how, [])
    assert.deepStrictEqual(Object.keys(impacts), later)
  })

  it.live("is what each one does, by pg_locks before its end: its locks, and what it reads completely", () =>
    onEmptyDatabase(
      Effect.gen(function* () {
        yield* filled
        for (const name of later) {
          const [cost] = yield* apply(name)
          const impact = impacts[name]
          if (cost === undefined || impact === undefined) continue
          assert.strictEqual(cost.name, name)
          assert.deepStrictEqual(undeclared(impact, cost), [])
        }
      }),
    ),
  )

  it.live("that leaves out a lock or a reading is found, and so is one that says too much", () =>
    onEmptyDatabase(
      Effect.gen(function* () {
        yield* filled
        const [cost] = yield* apply("0002_license_away")
        assert.isDefined(cost)
        const lock = { table: "licenses", mode: "ACCESS EXCLUSIVE" } as const
        const declared = { locks: [lock], reads: ["licenses"], millisecondsPerMillionRows: 1 }
        assert.deepStrictEqual(undeclared(declared, cost), [])
        assert.deepStrictEqual(undeclared({ ...declared, locks: [] }, cost), [
          "0002_license_away does this, and its impact does not say so: lock licenses in ACCESS EXCLUSIVE mode",
        ])
        assert.deepStrictEqual(undeclared({ ...declared, locks: [{ ...lock, mode: "SHARE" }] }, cost), [
          "0002_license_away does this, and its impact does not say so: lock licenses in ACCESS EXCLUSIVE mode",
          "0002_license_away does not do what its impact says: lock licenses in SHARE mode",
        ])
        assert.deepStrictEqual(undeclared({ ...declared, reads: ["licenses", "customers"] }, cost), [
          "0002_license_away does not do what its impact says: read customers completely",
        ])
      }),
    ),
  )

  it.live("names a table whose rows are all written again, which no migration may do", () =>
    onEmptyDatabase(
      Effect.gen(function* () {
        yield* filled
        const sql = yield* PgClient.PgClient
        const costs: Array<MigrationCost> = []
        const rewriting = {
          "0001_rewriting": Effect.asVoid(sql`ALTER TABLE customers ALTER COLUMN name TYPE varchar(300)`),
        }
        const measured = measuring(rewriting, (cost) => costs.push(cost))["0001_rewriting"]
        assert.isDefined(measured)
        yield* sql.withTransaction(measured)
        assert.deepStrictEqual(costs[0]?.rewrites, ["customers"])
      }),
    ),
  )

  it.live("is smaller after the statements that can run before: the migration reads these tables no more", () =>
    onEmptyDatabase(
      Effect.gen(function* () {
        yield* filled
        const sql = yield* PgClient.PgClient
        yield* apply("0005_event_owners")
        for (const statement of impacts["0006_search_words"]?.before ?? []) yield* sql.unsafe(statement)
        // A build that fails leaves an index that PostgreSQL does not use.
        yield* sql`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'instances_words'::regclass`
        const [cost] = yield* apply("0006_search_words")
        assert.notInclude(cost?.reads ?? [], "customers")
        assert.include(cost?.reads ?? [], "instances")
        const invalid = yield* sql`SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid`
        assert.deepStrictEqual(invalid, [])
      }),
    ),
  )
})
