/** SQL of the monthly partitions of usage, and of the month that is about to be dropped. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { executed, record, records, returnedRow } from "../../../kernel/database/Statements.ts"
import { months, timePartitions } from "../../../kernel/database/TimePartitions.ts"
import type { TimePartition } from "../../../kernel/database/TimePartitions.ts"
import type { InstanceId } from "./SumsRepo.ts"

/** The partition of events that no other one takes. */
export const REST = "usage_events_rest"

/** A partition that is about to be dropped, and up to which instance it is summed. */
interface Drop extends InstanceId {
  readonly partition: string
  readonly until: Date
  readonly isSummed: boolean
}

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

  return {
    tryLock: partitions.tryLock,
    waitBriefly: partitions.waitBriefly,
    list: partitions.list,

    /** Creates the partition of a month, with its events among those that had none. */
    create: (month: number) => partitions.createFrom(REST, month),

    /** Whether the events are in partitions. */
    isPartitioned: returnedRow(sql`SELECT 1 FROM pg_class WHERE oid = to_regclass('usage_events') AND relkind = 'p'`),

    /** The months of the events that no partition takes. */
    restMonths: Effect.map(
      records<{ readonly month: Date }>()(
        sql`SELECT DISTINCT date_trunc('month', timestamp, 'UTC') AS month FROM ${sql(REST)} ORDER BY 1`,
      ),
      (rows) => rows.map(({ month }) => months.of(month)),
    ),

    /** Until when events were dropped, if any were. */
    droppedUntil: Effect.map(
      record<{ readonly at: Date | null }>()(sql`SELECT dropped_until AS at FROM usage_retention`),
      (row) => Option.getOrNull(row)?.at ?? null,
    ),

    /**
     * Whether a site may still bring usage from before an instant: by an offline bundle that began before it, with five minutes for
     * the site's clock.
     */
    awaitsUploads: (until: Date, at: Date) =>
      returnedRow(sql`
        SELECT 1 FROM offline_bundles
        WHERE usage_until > ${at} AND issued_at < ${until}::timestamptz + interval '5 minutes' LIMIT 1`),

    /** The partition that is about to be dropped, locked until the transaction ends; none if another node has locked it. */
    lockDrop: record<Drop>()(sql`SELECT ${columns} FROM usage_drops FOR UPDATE SKIP LOCKED`),

    /**
     * Begins to drop a partition, unless a drop has begun, or another node dropped it since it was listed. From now on, changes of its
     * events are noted.
     */
    begin: Effect.fnUntraced(function* ({ name, until }: TimePartition) {
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

    /** The partition is summed up to an instance, or completely. */
    advance: (drop: Drop, end: InstanceId | null) =>
      executed(sql`
        UPDATE usage_drops SET is_summed = ${end === null}, after_organization = ${(end ?? drop).organizationId},
          after_instance = ${(end ?? drop).instanceId} WHERE partition = ${drop.partition}`),

    /** Keeps the events from changes until the transaction ends. */
    lockEvents: (partition: string) =>
      Effect.orDie(sql.unsafe(`LOCK TABLE ONLY usage_events, ${partition} IN ACCESS EXCLUSIVE MODE`)),

    /** Drops a summed partition. From now on its sums apply. */
    drop: Effect.fnUntraced(function* ({ partition, until }: Drop) {
      yield* executed(sql`UPDATE usage_retention SET dropped_until = greatest(dropped_until, ${until})`)
      yield* executed(sql`DELETE FROM usage_drops WHERE partition = ${partition}`)
      yield* partitions.drop(partition)
    }),

    /** Ends a drop whose partition is not among these: an operator dropped it by hand. */
    forgetWithout: (existing: ReadonlyArray<TimePartition>) =>
      executed(sql`
        DELETE FROM usage_drops WHERE NOT partition = ANY (${existing.map(({ name }) => name)}::text[])`),
  }
})

/** Partitions of usage. */
export class UsagePartitionsRepo extends Context.Service<UsagePartitionsRepo, Effect.Success<typeof make>>()(
  "keyshelf/usage/partitions/Repo",
) {
  static readonly layer = Layer.effect(UsagePartitionsRepo, make)
}
