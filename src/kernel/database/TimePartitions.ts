/** SQL of a table's partitions by time, in UTC: one for each day or month. */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Schema } from "effect"
import { DAY_MS } from "../values/Timestamp.ts"
import { decoded, returnedRow } from "./Statements.ts"

/** The time of one partition. Each has a number, one more than that of the time before it. */
interface PartitionSpan {
  /** The number of the span that contains an instant. */
  readonly of: (at: Date) => number
  readonly startOf: (span: number) => Date
  /** What the name of its partition ends in. */
  readonly suffixOf: (span: number) => string
}

const digitsOf = (at: Date, count: number): string => at.toISOString().slice(0, count).replaceAll("-", "")

/** Days since 1970. */
export const days: PartitionSpan = {
  of: (at) => Math.floor(at.getTime() / DAY_MS),
  startOf: (day) => new Date(day * DAY_MS),
  suffixOf: (day) => digitsOf(days.startOf(day), 10),
}

/** Months since 1970. */
export const months: PartitionSpan = {
  of: (at) => (at.getUTCFullYear() - 1970) * 12 + at.getUTCMonth(),
  startOf: (month) => new Date(Date.UTC(1970, month, 1)),
  suffixOf: (month) => digitsOf(months.startOf(month), 7),
}

/** A partition. A bound is `null` if it has none; a default partition has neither. */
const TimePartition = Schema.Struct({
  name: Schema.String,
  from: Schema.NullOr(Schema.Date),
  until: Schema.NullOr(Schema.Date),
})
export type TimePartition = typeof TimePartition.Type

interface PartitionedTable {
  readonly table: string
  readonly span: PartitionSpan
  /** The table whose indexes and constraints a new partition gets. */
  readonly like: string
  /** Names the advisory lock of changes. */
  readonly lock: string
  /** How long a change waits for statements that use the table, because later ones queue up after it. */
  readonly lockTimeout: string
}

/** The partitions of a table. */
export const timePartitions = (sql: PgClient.PgClient, { like, lock, lockTimeout, span, table }: PartitionedTable) => {
  const nameOf = (number: number): string => `${table}_${span.suffixOf(number)}`
  const attach = (number: number) => `ALTER TABLE ${table} ATTACH PARTITION ${nameOf(number)}
    FOR VALUES FROM ('${span.startOf(number).toISOString()}') TO ('${span.startOf(number + 1).toISOString()}')`

  return {
    nameOf,

    /** Lists the partitions, in order; those without a lower bound come first. */
    list: decoded(TimePartition)(sql`
      SELECT name, bounds[1]::timestamptz AS from, bounds[2]::timestamptz AS until FROM (
        SELECT child.relname AS name, ARRAY[
          substring(pg_get_expr(child.relpartbound, child.oid) FROM 'FROM [(]''([^'']+)''[)]'),
          substring(pg_get_expr(child.relpartbound, child.oid) FROM 'TO [(]''([^'']+)''[)]')] AS bounds
        FROM pg_inherits JOIN pg_class child ON child.oid = pg_inherits.inhrelid
        WHERE pg_inherits.inhparent = to_regclass(${table})
      ) found ORDER BY 2 NULLS FIRST, 3`),

    /** Locks the partitions against changes until the transaction ends. Returns whether the lock was free. */
    tryLock: returnedRow(sql`SELECT 1 WHERE pg_try_advisory_xact_lock(hashtextextended(${lock}, 0))`),

    /** Waits for the lock of `tryLock`. */
    lock: returnedRow(sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`),

    /** Limits how long the transaction waits for statements that use the table. */
    waitBriefly: Effect.orDie(Effect.asVoid(sql.unsafe(`SET LOCAL lock_timeout = '${lockTimeout}'`))),

    /** Creates the partition of a span. Attaching a separate table blocks no reader or writer of the others. */
    create: (number: number): Effect.Effect<void> =>
      Effect.orDie(
        Effect.gen(function* () {
          yield* sql.unsafe(`CREATE TABLE ${nameOf(number)} (LIKE ${like} INCLUDING ALL)`)
          yield* sql.unsafe(attach(number))
        }),
      ),

    /** {@link create} for a table with a default partition that has rows of the span: they are moved. */
    createFrom: (rest: string, number: number): Effect.Effect<void> =>
      Effect.orDie(
        Effect.gen(function* () {
          const [from, until] = [span.startOf(number), span.startOf(number + 1)]
          yield* sql.unsafe(`CREATE TABLE ${nameOf(number)} (LIKE ${like} INCLUDING ALL)`)
          yield* sql.unsafe(`LOCK TABLE ${rest} IN ACCESS EXCLUSIVE MODE`)
          yield* sql`
            WITH moved AS (DELETE FROM ${sql(rest)} WHERE timestamp >= ${from} AND timestamp < ${until} RETURNING *)
            INSERT INTO ${sql(nameOf(number))} SELECT * FROM moved`
          yield* sql.unsafe(attach(number))
        }),
      ),

    /** Drops a partition. */
    drop: (name: string): Effect.Effect<void> =>
      Effect.orDie(Effect.asVoid(sql.unsafe(`DROP TABLE IF EXISTS ${name}`))),
  }
}
