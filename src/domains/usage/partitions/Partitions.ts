/**
 * Creates the months of usage ahead, and drops old ones after their events were summed by day. A job of the sweeper; every node can run
 * it concurrently.
 *
 * A drop: 1. a trigger notes from now on which totals change; 2. part by part, events are summed; 3. what has changed is summed again;
 * 4. under a lock of milliseconds, the rest of the changes is summed, the sums begin to apply, and the partition is dropped. If a lock
 * is not free within 100 ms, the next sweep tries again. 5. What credits paid then is added up in the credits.
 */
import { Context, Effect, Layer, Option } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import type { RetentionJob } from "../../../kernel/database/ExpiredRows.ts"
import { sqlStateOf } from "../../../kernel/database/Statements.ts"
import { months } from "../../../kernel/database/TimePartitions.ts"
import type { TimePartition } from "../../../kernel/database/TimePartitions.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { CurrentRetentionPeriods, endedBefore } from "../../../kernel/ports/RetentionPeriods.ts"
import { SiteUploads } from "./SiteUploads.ts"
import { UsagePartitionsRepo } from "./Repo.ts"
import { CreditUsesRepo } from "./CreditUsesRepo.ts"
import { SumsRepo } from "./SumsRepo.ts"

/** How many months ahead partitions are created. */
export const MONTHS_AHEAD = 6
// Late usage belongs to these months.
const MONTHS_BEHIND = 2

// Limits of one sweep, so that other jobs can run.
const MAX_PARTS = 200
const MAX_DROPS = 12

const CHANGES_AT_ONCE = 1000
const ALL_CHANGES = 1_000_000

const LOCK_NOT_AVAILABLE = "55P03"

/** Whether a statement waited too long for a lock. */
const isLockTimeout = (error: unknown): boolean => isSqlError(error) && sqlStateOf(error.reason) === LOCK_NOT_AVAILABLE

const covers = (start: Date) => (partition: TimePartition) =>
  partition.until !== null && partition.until > start && (partition.from === null || partition.from <= start)

/** The months of usage. */
export class UsagePartitions extends Context.Service<
  UsagePartitions,
  {
    /** `maintain` as a job of the sweeper. */
    readonly job: RetentionJob
    /** Creates the months ahead, and drops those whose retention has ended. Returns how many it dropped. */
    readonly maintain: (at: Date) => Effect.Effect<number>
  }
>()("keyshelf/usage/partitions/UsagePartitions") {
  static readonly layer = Layer.suspend(() => Layer.effect(UsagePartitions, make))
}

/** Tries a step that needs a lock. Returns whether it was done. */
const tried = <A, E, R>(step: Effect.Effect<A, E, R>) =>
  Effect.as(step, true).pipe(
    Effect.catchDefect((defect) => (isLockTimeout(defect) ? Effect.succeed(false) : Effect.die(defect))),
  )

/** Creates the months that are missing. */
const creation = Effect.gen(function* () {
  const repo = yield* UsagePartitionsRepo
  const transactions = yield* Transactions

  /** Creates the partition of a month, unless there is one, or another node changes partitions. */
  const create = (month: number) =>
    Effect.gen(function* () {
      yield* repo.waitBriefly
      if (!(yield* repo.tryLock)) return
      const start = months.startOf(month)
      if ((yield* repo.list).some(covers(start))) return
      yield* repo.create(month)
    }).pipe(transactions.run, tried)

  return Effect.fnUntraced(function* (at: Date) {
    const existing = yield* repo.list
    const droppedUntil = yield* repo.droppedUntil
    const current = months.of(at)
    const wanted = Array.from(
      { length: MONTHS_BEHIND + 1 + MONTHS_AHEAD },
      (_, index) => current - MONTHS_BEHIND + index,
    )
    for (const month of new Set([...(yield* repo.restMonths), ...wanted])) {
      const start = months.startOf(month)
      if (existing.some(covers(start)) || (droppedUntil !== null && start < droppedUntil)) continue
      yield* create(month)
    }
  })
})

/** Drops months whose retention has ended. */
const dropping = Effect.gen(function* () {
  const repo = yield* UsagePartitionsRepo
  const uploads = yield* SiteUploads
  const sums = yield* SumsRepo
  const transactions = yield* Transactions

  /** Begins to drop the oldest month, if it is old enough and no site can bring usage of it. */
  const begin = Effect.fnUntraced(function* (at: Date, cutoff: Date) {
    const existing = yield* repo.list
    yield* repo.forgetWithout(existing)
    const old = existing.find(({ until }) => until !== null && until <= cutoff)
    if (old?.until == null || (yield* uploads.areAwaited(old.until, at))) return
    yield* tried(transactions.run(Effect.andThen(repo.waitBriefly, repo.begin(old))))
  })

  /** Sums the next part of the month that is dropped. Returns whether more is left. */
  const sumNext = transactions.run(
    Effect.gen(function* () {
      yield* sums.prepare
      const drop = Option.getOrUndefined(yield* repo.lockDrop)
      if (drop === undefined || drop.isSummed) return false
      const end = Option.getOrNull(yield* sums.partEnd(drop.partition, drop))
      yield* sums.sumPart(drop.partition, drop, end)
      yield* repo.advance(drop, end)
      return end !== null
    }),
  )

  const sumChanged = transactions.run(
    Effect.gen(function* () {
      yield* sums.prepare
      const drop = Option.getOrUndefined(yield* repo.lockDrop)
      return drop === undefined ? 0 : yield* sums.sumChanged(drop.partition, CHANGES_AT_ONCE)
    }),
  )

  /** Drops the summed month. Returns whether it did. */
  const finish = (cutoff: Date) =>
    Effect.gen(function* () {
      yield* sums.prepare
      yield* repo.waitBriefly
      const drop = Option.getOrUndefined(yield* repo.lockDrop)
      if (drop === undefined || !drop.isSummed || drop.until > cutoff) return false
      yield* repo.lockEvents(drop.partition)
      yield* sums.sumChanged(drop.partition, ALL_CHANGES)
      yield* repo.drop(drop)
      yield* Effect.logInfo("Dropped usage events after summing them by day").pipe(
        Effect.annotateLogs({ partition: drop.partition, until: drop.until.toISOString() }),
      )
      return true
    }).pipe(
      transactions.run,
      Effect.catchDefect((defect) => (isLockTimeout(defect) ? Effect.succeed(false) : Effect.die(defect))),
    )

  return Effect.fnUntraced(function* (at: Date, cutoff: Date) {
    let dropped = 0
    for (; dropped < MAX_DROPS; dropped++) {
      yield* begin(at, cutoff)
      for (let part = 0; part < MAX_PARTS && (yield* sumNext); part++);
      yield* Effect.repeat(sumChanged, { while: (count) => count === CHANGES_AT_ONCE })
      if (!(yield* finish(cutoff))) break
    }
    return dropped
  })
})

/** Sums what credits paid in the months that were dropped. */
const summingUses = Effect.gen(function* () {
  const repo = yield* UsagePartitionsRepo
  const uses = yield* CreditUsesRepo
  const transactions = yield* Transactions

  return Effect.gen(function* () {
    const droppedUntil = yield* repo.droppedUntil
    if (droppedUntil === null) return
    for (let part = 0; part < MAX_PARTS && (yield* transactions.run(uses.sum(droppedUntil))) > 0; part++);
  })
})

const make = Effect.gen(function* () {
  const repo = yield* UsagePartitionsRepo
  const sumUses = yield* summingUses
  const { usageEvents } = yield* CurrentRetentionPeriods
  const createAhead = yield* creation
  const dropOld = yield* dropping

  const maintain = Effect.fn("UsagePartitions.maintain")(function* (at: Date) {
    // A database on several servers has them in one table, which it distributes.
    if (!(yield* repo.isPartitioned)) return 0
    yield* createAhead(at)
    const dropped = Option.isNone(usageEvents) ? 0 : yield* dropOld(at, endedBefore(at, usageEvents.value))
    yield* sumUses
    return dropped
  })

  const job: RetentionJob = { kind: "usage_partitions", step: maintain }
  return { job, maintain }
})
