/** SQL of the partitions of the history: one per day, in UTC. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { days, timePartitions } from "../../../kernel/database/TimePartitions.ts"

/** The number of days since 1970. */
export const dayOf = days.of

/** Partitions of the history. */
export class PartitionsRepo extends Context.Service<
  PartitionsRepo,
  {
    /** Lists the days that have a partition, in order. */
    readonly listDays: Effect.Effect<ReadonlyArray<number>>
    /** Locks the partitions until the transaction ends. Returns `false` if another transaction has locked them. */
    readonly tryLock: Effect.Effect<boolean>
    /** The same, but waits for another transaction. */
    readonly lock: Effect.Effect<boolean>
    /** Creates the partition of a day, which must have none. */
    readonly create: (day: number) => Effect.Effect<void>
    /** Drops the partition of a day. Waits up to 2 s for its readers. */
    readonly drop: (day: number) => Effect.Effect<void>
  }
>()("keyshelf/webhooks/history/PartitionsRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(PartitionsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const partitions = timePartitions(sql, {
    table: "webhook_attempts",
    span: days,
    like: "webhook_attempts",
    lock: "webhook-partitions",
    lockTimeout: "2s",
  })

  return PartitionsRepo.of({
    listDays: Effect.map(partitions.list, (rows) => rows.flatMap(({ from }) => (from === null ? [] : [dayOf(from)]))),
    tryLock: partitions.tryLock,
    lock: partitions.lock,
    create: partitions.create,
    drop: (day) => Effect.andThen(partitions.waitBriefly, partitions.drop(partitions.nameOf(day))),
  })
})
