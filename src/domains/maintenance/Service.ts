/**
 * The sweeper: tells the end of tokens and removes what its retention is over for (interface specification, section 8;
 * contract, section 8). In batches that commit by themselves, so that it never holds much; rows that another node works on
 * are left to it, so that any number of nodes may sweep at once.
 */
import { Cause, Context, Duration, Effect, Exit, Layer, Metric, Option } from "effect"
import { TokenRetirement } from "../access/tokens/Retention.ts"
import { EventRetention } from "../events/Retention.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { ReservationRetention } from "../usage/Retention.ts"
import { PendingDeliveries } from "../webhooks/queue/BacklogRemover.ts"
import { expiringTables, MaintenanceRepo } from "../../kernel/database/ExpiredRows.ts"

/** How long rows are kept after their end; events for ever unless told otherwise. */
export interface RetentionPeriods {
  readonly retiredTokens: Duration.Duration
  readonly events: Option.Option<Duration.Duration>
}

/** The installation's retentions. */
export const Retention = Context.Reference<RetentionPeriods>("keyshelf.reference/maintenance/Retention", {
  defaultValue: () => ({ retiredTokens: Duration.days(90), events: Option.none() }),
})

/** Rows per transaction. */
export const BATCH = 1000

// What one sweep does of one kind before the others have their turn; the rest waits for the next sweep.
const BATCHES = 100

const sweptRows = Metric.counter("keyshelf_sweeper_rows_total", {
  description: "Rows that the sweeper told or removed, by kind",
  incremental: true,
})

/** One kind of work: does up to so many rows, answers how many. */
interface Task {
  readonly kind: string
  readonly step: (at: Date, count: number) => Effect.Effect<number>
}

const before = (at: Date, kept: Duration.Duration) => new Date(at.getTime() - Duration.toMillis(kept))

const make = Effect.gen(function* () {
  const retention = yield* Retention
  const retirement = yield* TokenRetirement
  const reservations = yield* ReservationRetention
  const events = yield* EventRetention
  const pending = yield* PendingDeliveries
  const repo = yield* MaintenanceRepo

  const tasks: ReadonlyArray<Task> = [
    // First, so that an expired token is never removed before its end was told.
    { kind: "token_expiries", step: (_, count) => retirement.tellExpiries(count) },
    {
      kind: "retired_tokens",
      step: (at, count) => retirement.removeRetired(before(at, retention.retiredTokens), count),
    },
    ...expiringTables.map((table) => ({
      kind: table,
      step: (at: Date, count: number) => repo.deleteExpired(table, at, count),
    })),
    { kind: "usage_reservations", step: reservations.removeFinished },
    { kind: "dropped_deliveries", step: (_, count) => pending.dropLeft(count) },
    ...Option.match(retention.events, {
      onNone: () => [],
      onSome: (kept) => [
        { kind: "events", step: (at: Date, count: number) => events.removeBefore(before(at, kept), count) },
      ],
    }),
  ]

  /** What a sweep does, by name. */
  const kinds = tasks.map(({ kind }) => kind)

  const drain = Effect.fnUntraced(function* ({ kind, step }: Task) {
    let total = 0
    for (let batch = 0; batch < BATCHES; batch++) {
      const done = yield* step(yield* now, BATCH)
      total += done
      if (done < BATCH) break
    }
    if (total > 0) yield* Metric.update(Metric.withAttributes(sweptRows, { kind }), total)
    return total
  })

  /** Does what is due now, each kind by itself. Answers the rows by kind; a kind that failed is left to the next sweep. */
  const sweep = Effect.gen(function* () {
    const swept: Record<string, number> = {}
    let failure: Cause.Cause<never> | undefined
    for (const task of tasks) {
      const done = yield* Effect.exit(drain(task))
      if (Exit.isSuccess(done)) swept[task.kind] = done.value
      else if (Cause.hasInterruptsOnly(done.cause)) return yield* Effect.failCause(done.cause)
      else failure ??= done.cause
    }
    if (failure !== undefined) {
      const left = kinds.filter((kind) => swept[kind] === undefined)
      yield* Effect.logWarning(`The sweeper could not do ${left.join(", ")}; it tries again in a minute`, failure)
    }
    const done = Object.entries(swept).filter(([, rows]) => rows > 0)
    if (done.length > 0) {
      yield* Effect.logInfo("Swept").pipe(Effect.annotateLogs(Object.fromEntries(done)))
    }
    return swept
  }).pipe(Effect.withSpan("Sweeper.sweep"))

  return { kinds, sweep }
})

/** Sweeps. {@link Retention} says what is kept how long. */
export class Sweeper extends Context.Service<Sweeper, Effect.Success<typeof make>>()("keyshelf/maintenance/Sweeper") {
  static readonly layer = Layer.effect(Sweeper, make)
}
