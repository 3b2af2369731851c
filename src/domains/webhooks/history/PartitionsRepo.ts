/** SQL of the partitions of the history: one per day, in UTC. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records, returnedRow } from "../../../kernel/database/Statements.ts"
import { DAY_MS } from "../../../kernel/values/Timestamp.ts"

const PREFIX = "webhook_attempts_"

/** The number of days since 1970. */
export const dayOf = (at: Date): number => Math.floor(at.getTime() / DAY_MS)

const startOf = (day: number): string => new Date(day * DAY_MS).toISOString()

/** The table of a day: `webhook_attempts_20260131`. */
export const tableOf = (day: number): string => PREFIX + startOf(day).slice(0, 10).replaceAll("-", "")

/** The day of a table; `undefined` for the name of another table. */
export const dayOfTable = (name: string): number | undefined => {
  const match = /^webhook_attempts_(\d{4})(\d{2})(\d{2})$/.exec(name)
  return match === null ? undefined : dayOf(new Date(`${match[1]}-${match[2]}-${match[3]}T00:00:00.000Z`))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  return {
    /** Lists the days that have a partition, in order. */
    listDays: Effect.map(
      records<{ name: string }>()(sql`
        SELECT child.relname AS name FROM pg_inherits
        JOIN pg_class child ON child.oid = pg_inherits.inhrelid
        WHERE pg_inherits.inhparent = 'webhook_attempts'::regclass`),
      (rows) =>
        rows
          .map(({ name }) => dayOfTable(name))
          .filter((day): day is number => day !== undefined)
          .sort((left, right) => left - right),
    ),

    /** Locks the partitions against changes until the transaction ends. Returns whether the lock was free. */
    tryLock: Effect.map(
      records<{ free: boolean }>()(
        sql`SELECT pg_try_advisory_xact_lock(hashtextextended('webhook-partitions', 0)) AS free`,
      ),
      ([row]) => row?.free === true,
    ),

    /** Waits for the lock of {@link tryLock}. */
    lock: returnedRow(sql`SELECT pg_advisory_xact_lock(hashtextextended('webhook-partitions', 0))`),

    /** Creates the partition of a day. Attaching a separate table blocks no reader or writer of the other days. */
    create: (day: number) =>
      Effect.orDie(
        Effect.gen(function* () {
          const table = tableOf(day)
          yield* sql.unsafe(`CREATE TABLE ${table} (LIKE webhook_attempts INCLUDING ALL)`)
          yield* sql.unsafe(`ALTER TABLE webhook_attempts ATTACH PARTITION ${table}
            FOR VALUES FROM ('${startOf(day)}') TO ('${startOf(day + 1)}')`)
        }),
      ),

    /** Drops the partition of a day. Waits up to 2 s for its readers, because later requests queue up after it. */
    drop: (day: number) =>
      Effect.orDie(
        Effect.gen(function* () {
          yield* sql.unsafe(`SET LOCAL lock_timeout = '2s'`)
          yield* sql.unsafe(`DROP TABLE IF EXISTS ${tableOf(day)}`)
        }),
      ),
  }
})

/** Partitions of the history. */
export class PartitionsRepo extends Context.Service<PartitionsRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/history/PartitionsRepo",
) {
  static readonly layer = Layer.effect(PartitionsRepo, make)
}
