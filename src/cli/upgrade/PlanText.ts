/** What an upgrade will do to the processes that serve meanwhile, as data and as text. Pure. */
import type { Impact, TableLock } from "../../../migrations/impact.ts"
import type { Way } from "./Way.ts"

/** What a pending migration will do. */
interface PlannedMigration {
  readonly name: string
  readonly locks: ReadonlyArray<TableLock>
  /** The tables that it reads completely, with their rows as PostgreSQL estimates them. */
  readonly reads: ReadonlyArray<{ readonly table: string; readonly rows: number }>
  readonly estimatedMs: number
  readonly before: ReadonlyArray<string>
  readonly until: string | null
}

/** The plan of an upgrade. */
export interface Plan extends Way {
  readonly migrations: ReadonlyArray<PlannedMigration>
  /** Indexes that a statement was to build before, and did not. */
  readonly invalidIndexes: ReadonlyArray<string>
}

const MILLION = 1_000_000

/** Estimates the time of a migration from the rows of the tables that it reads. Pure. */
export const planned = (name: string, impact: Impact, rowsOf: (table: string) => number): PlannedMigration => {
  const reads = impact.reads.map((table) => ({ table, rows: rowsOf(table) }))
  const rows = reads.reduce((sum, read) => sum + read.rows, 0)
  return {
    name,
    locks: impact.locks,
    reads,
    estimatedMs: Math.ceil((rows / MILLION) * impact.millisecondsPerMillionRows),
    before: impact.before ?? [],
    until: impact.until ?? null,
  }
}

const lockText = ({ mode, table }: TableLock): string => `${table} (${mode})`

const linesOf = (migration: PlannedMigration): ReadonlyArray<string> => {
  const reads = migration.reads.map(({ rows, table }) => `${table} (${Math.round(rows)} rows)`)
  return [
    migration.name,
    `  locks until the last migration ends: ${migration.locks.map(lockText).join(", ") || "none"}`,
    `  reads: ${reads.join(", ") || "nothing"}`,
    `  estimated time: ${migration.estimatedMs} ms`,
    ...migration.before.map((statement) => `  can run before, while the old version serves: ${statement};`),
    ...(migration.until === null ? [] : [`  until all processes are replaced: ${migration.until}`]),
  ]
}

/** The plan as text. Pure. */
export const planText = ({ from, invalidIndexes, migrations, obstacle, to }: Plan): string => {
  const total = migrations.reduce((sum, { estimatedMs }) => sum + estimatedMs, 0)
  return [
    `From ${from} to ${to}: ${obstacle ?? "this upgrade is supported."}`,
    ...migrations.flatMap(linesOf),
    ...invalidIndexes.map(
      (name) => `${name} is invalid: its build failed. The migration that needs it builds it again.`,
    ),
    migrations.length === 0
      ? "No migration is pending. Nothing was changed."
      : `${migrations.length} pending, in one transaction of about ${total} ms. Nothing was changed.`,
  ].join("\n")
}
