/** Measures what migrations cost the processes that serve meanwhile: time, locks, complete readings and rewrites of tables. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { lockModes } from "../../../migrations/impact.ts"
import type { Impact, LockMode, TableLock } from "../../../migrations/impact.ts"
import type { migrations } from "../../../migrations/index.ts"
import { migrationsTable } from "../../infra/database/Migrations.ts"

/** What a migration has cost. Tables are those that existed before it. */
export interface MigrationCost {
  readonly name: string
  readonly startedAt: number
  readonly ms: number
  /** The locks that make requests wait, unless an earlier migration of the transaction has acquired them. */
  readonly locks: ReadonlyArray<TableLock>
  /** The tables that were read completely. */
  readonly reads: ReadonlyArray<string>
  /** The tables whose rows were all written again. */
  readonly rewrites: ReadonlyArray<string>
}

interface TableState {
  /** The table; of a partition, the table that it is a part of. */
  readonly name: string
  readonly oid: number
  readonly file: string
  readonly scans: number
  readonly modes: ReadonlyArray<string>
}

/** The tables of the database, with what this transaction did to them so far. */
const readTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<TableState>`
    SELECT coalesce(pg_partition_root(c.oid), c.oid)::regclass::text AS name, c.oid::int AS oid,
      pg_relation_filenode(c.oid)::text AS file, pg_stat_get_xact_numscans(c.oid)::int AS scans,
      coalesce(l.modes, '{}') AS modes
    FROM pg_class c LEFT JOIN (
      SELECT relation, array_agg(mode) AS modes FROM pg_locks
      WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted GROUP BY relation
    ) l ON l.relation = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> ${migrationsTable}`
  return new Map(rows.map((row) => [row.oid, row] as const))
})

/** PostgreSQL's names of the modes, in the order of `lockModes`. */
const heldModes = ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"]

const strengthOf = ({ modes }: Pick<TableState, "modes">): number =>
  Math.max(-1, ...modes.map((mode) => heldModes.indexOf(mode)))

type Tables = ReadonlyMap<number, TableState>

const newLocks = (before: Tables, after: Tables): ReadonlyArray<TableLock> => {
  const strengths = new Map<string, number>()
  for (const [oid, earlier] of before) {
    const strength = strengthOf(after.get(oid) ?? earlier)
    if (strength <= strengthOf(earlier)) continue
    strengths.set(earlier.name, Math.max(strength, strengths.get(earlier.name) ?? 0))
  }
  return Array.from(strengths, ([table, strength]) => ({ table, mode: lockModes[strength] as LockMode }))
}

const namesOf = (before: Tables, after: Tables, has: (earlier: TableState, later: TableState) => boolean) => {
  const tables = Array.from(before, ([oid, earlier]) => [earlier, after.get(oid)] as const)
  return [
    ...new Set(tables.flatMap(([earlier, later]) => (later !== undefined && has(earlier, later) ? later.name : []))),
  ]
}

const measure = (name: string, migration: Effect.Effect<void, SqlError, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const before = yield* readTables
    const startedAt = yield* Clock.currentTimeMillis
    yield* migration
    const ms = (yield* Clock.currentTimeMillis) - startedAt
    const after = yield* readTables
    return {
      name,
      startedAt,
      ms,
      locks: newLocks(before, after),
      reads: namesOf(before, after, (earlier, later) => later.scans > earlier.scans),
      rewrites: namesOf(before, after, (earlier, later) => later.file !== earlier.file),
    } satisfies MigrationCost
  })

/** Wraps each migration to measure it. `measured` gets the costs, in the order of the migrations. */
export const measuring = (sequence: typeof migrations, measured: (cost: MigrationCost) => void): typeof migrations =>
  Object.fromEntries(
    Object.entries(sequence).map(([name, migration]) => [
      name,
      Effect.map(measure(name, migration), (cost) => measured(cost)),
    ]),
  )

/** How a declaration differs from what a migration did in a transaction of its own. Empty if it does not. */
export const undeclared = (impact: Impact, cost: MigrationCost): ReadonlyArray<string> => {
  const texts = (locks: ReadonlyArray<TableLock>) => locks.map(({ mode, table }) => `lock ${table} in ${mode} mode`)
  const read = (tables: ReadonlyArray<string>) => tables.map((table) => `read ${table} completely`)
  const declared = [...texts(impact.locks), ...read(impact.reads)]
  const done = [...texts(cost.locks), ...read(cost.reads)]
  const without = (all: ReadonlyArray<string>, some: ReadonlyArray<string>) =>
    all.filter((text) => !some.includes(text))
  return [
    ...without(done, declared).map((text) => `${cost.name} does this, and its impact does not say so: ${text}`),
    ...without(declared, done).map((text) => `${cost.name} does not do what its impact says: ${text}`),
    ...cost.rewrites.map((table) => `${cost.name} writes all rows of ${table} again, which no migration may`),
  ]
}
