/** SQL of the monthly partitions of usage, and of the month that is about to be dropped. */
import { PgClient } from "@effect/sql-pg"
import { Array as Arr, Context, Effect, Layer, Option, Schema } from "effect"
import { decodedColumn, decodedOne, decodedValue, executed, returnedRow } from "../../../kernel/database/Statements.ts"
import { months, timePartitions } from "../../../kernel/database/TimePartitions.ts"
import type { TimePartition } from "../../../kernel/database/TimePartitions.ts"
import { InstanceId } from "./SumsRepo.ts"

/** The partition of events that no other one takes. */
export const REST = "usage_events_rest"

/** A partition that is about to be dropped, and up to which instance it is summed. */
const Drop = Schema.Struct({
  ...InstanceId.fields,
  partition: Schema.String,
  until: Schema.Date,
  isSummed: Schema.Boolean,
})
type Drop = typeof Drop.Type

/** Partitions of usage. */
export class UsagePartitionsRepo extends Context.Service<
  UsagePartitionsRepo,
  {
    /** Locks the partitions until the transaction ends. Returns `false` if another transaction has locked them. */
    readonly tryLock: Effect.Effect<boolean>
    /** Limits how long the transaction waits for locks. Later statements would queue up after it. */
    readonly waitBriefly: Effect.Effect<void>
    /** The partitions, in order. One without a lower bound comes first. */
    readonly list: Effect.Effect<ReadonlyArray<TimePartition>>
    /** Creates the partition of a month, with its events among those that had none. */
    readonly create: (month: number) => Effect.Effect<void>
    /** Whether the events are in partitions. */
    readonly isPartitioned: Effect.Effect<boolean>
    /** The months of the events that no partition takes. */
    readonly restMonths: Effect.Effect<ReadonlyArray<number>>
    /** Until when events were dropped, if any were. */
    readonly droppedUntil: Effect.Effect<Date | null>
    /**
     * The partition that is about to be dropped, locked until the transaction ends; none if another node has locked it.
     */
    readonly lockDrop: Effect.Effect<Option.Option<Drop>>
    /**
     * Begins to drop a partition, unless a drop has begun, or another node dropped it since it was listed. From now on, changes of its
     * events are noted.
     */
    readonly begin: (partition: TimePartition) => Effect.Effect<void>
    /** Stores that the partition is summed up to an instance, or completely. */
    readonly advance: (drop: Drop, end: InstanceId | null) => Effect.Effect<void>
    /** Locks the events of a partition against changes until the transaction ends. */
    readonly lockEvents: (partition: string) => Effect.Effect<void>
    /** Drops a summed partition. From now on its sums apply. */
    readonly drop: (drop: Drop) => Effect.Effect<void>
    /** Ends a drop whose partition is not among these: an operator dropped it by hand. */
    readonly forgetWithout: (existing: ReadonlyArray<TimePartition>) => Effect.Effect<void>
  }
>()("keyshelf/usage/partitions/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(UsagePartitionsRepo, make))
}

const startsIn = decodedColumn("start", Schema.Date)
const droppedUntilIn = decodedValue("dropped_until", Schema.NullOr(Schema.Date))

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const partitions = timePartitions(sql, {
    table: "usage_events",
    span: months,
    like: REST,
    lock: "usage-partitions",
    lockTimeout: "100ms",
  })
  const columns = sql.literal(
    `partition, until, after_organization AS "organizationId", after_instance AS "instanceId", is_summed AS "isSummed"`,
  )

  return UsagePartitionsRepo.of({
    tryLock: partitions.tryLock,
    waitBriefly: partitions.waitBriefly,
    list: partitions.list,

    create: (month) => partitions.createFrom(REST, month),

    isPartitioned: returnedRow(sql`SELECT 1 FROM pg_class WHERE oid = to_regclass('usage_events') AND relkind = 'p'`),

    restMonths: Effect.map(
      startsIn(sql`SELECT DISTINCT date_trunc('month', timestamp, 'UTC') AS start FROM ${sql(REST)} ORDER BY 1`),
      Arr.map((start) => months.of(start)),
    ),

    droppedUntil: Effect.map(droppedUntilIn(sql`SELECT dropped_until FROM usage_retention`), Option.getOrNull),

    lockDrop: decodedOne(Drop)(sql`SELECT ${columns} FROM usage_drops FOR UPDATE SKIP LOCKED`),

    begin: Effect.fnUntraced(function* ({ name, until }) {
      const begun = yield* returnedRow(sql`
        INSERT INTO usage_drops (partition, until) SELECT ${name}, ${until}::timestamptz
        WHERE NOT EXISTS (SELECT 1 FROM usage_drops) AND to_regclass(${name}) IS NOT NULL
        ON CONFLICT DO NOTHING RETURNING partition`)
      if (!begun) return
      yield* Effect.orDie(
        sql.unsafe(`CREATE OR REPLACE TRIGGER usage_event_changed AFTER INSERT OR UPDATE OR DELETE ON ${name}
          FOR EACH ROW EXECUTE FUNCTION usage_event_changed()`),
      )
    }),

    advance: (drop, end) =>
      executed(sql`
        UPDATE usage_drops SET is_summed = ${end === null}, after_organization = ${(end ?? drop).organizationId},
          after_instance = ${(end ?? drop).instanceId} WHERE partition = ${drop.partition}`),

    lockEvents: (partition) =>
      Effect.orDie(sql.unsafe(`LOCK TABLE ONLY usage_events, ${partition} IN ACCESS EXCLUSIVE MODE`)),

    drop: Effect.fnUntraced(function* ({ partition, until }) {
      yield* executed(sql`UPDATE usage_retention SET dropped_until = greatest(dropped_until, ${until})`)
      yield* executed(sql`DELETE FROM usage_drops WHERE partition = ${partition}`)
      yield* partitions.drop(partition)
    }),

    forgetWithout: (existing) =>
      executed(sql`
        DELETE FROM usage_drops WHERE NOT partition = ANY (${existing.map(({ name }) => name)}::text[])`),
  })
})
