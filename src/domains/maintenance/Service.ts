/**
 * The sweeper: emits the expiry events of tokens and deletes rows whose retention has ended (interface specification,
 * section 8; contract, section 8). Each batch commits separately, which keeps transactions short. Batches skip rows
 * that another node has locked, so any number of nodes can sweep concurrently.
 */
import { Cause, Context, Duration, Effect, Exit, Layer, Metric, Option } from "effect"
import { TokenRetirement } from "../access/tokens/Retention.ts"
import { EventRetention } from "../events/Retention.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { ReservationRetention } from "../usage/Retention.ts"
import { BacklogRemover } from "../webhooks/queue/BacklogRemover.ts"
import { expiringTables, MaintenanceRepo } from "../../kernel/database/ExpiredRows.ts"

/** How long rows are retained after their end. Without `events`, events are retained forever. */
export interface RetentionPeriods {
  readonly retiredTokens: Duration.Duration
  readonly events: Option.Option<Duration.Duration>
}

/** The retention periods of the installation. */
export const Retention = Context.Reference<RetentionPeriods>("keyshelf.reference/maintenance/Retention", {
  defaultValue: () => ({ retiredTokens: Duration.days(90), events: Option.none() }),
})

/** Rows per transaction. */
export const BATCH = 1000

// The limit of one retention job per sweep, so that a backlog does not delay the other jobs.
const MAX_BATCHES = 100

const sweptRows = Metric.counter("keyshelf_sweeper_rows_total", {
  description: "Rows deleted or emitted as events by the sweeper, by kind",
  incremental: true,
})

/** A retention job. `step` processes up to `count` rows and returns the number processed. */
interface RetentionJob {
  readonly kind: string
  readonly step: (at: Date, count: number) => Effect.Effect<number>
}

const before = (at: Date, retained: Duration.Duration) => new Date(at.getTime() - Duration.toMillis(retained))

const make = Effect.gen(function* () {
  const retention = yield* Retention
  const retirement = yield* TokenRetirement
  const reservations = yield* ReservationRetention
  const events = yield* EventRetention
  const pending = yield* BacklogRemover
  const repo = yield* MaintenanceRepo

  const jobs: ReadonlyArray<RetentionJob> = [
    // Must come first: the expiry event of a token is emitted before the token is deleted.
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
    { kind: "dropped_deliveries", step: (_, count) => pending.deleteAbandoned(count) },
    ...Option.match(retention.events, {
      onNone: () => [],
      onSome: (retained) => [
        { kind: "events", step: (at: Date, count: number) => events.removeBefore(before(at, retained), count) },
      ],
    }),
  ]

  /** The kinds of rows that a sweep processes. */
  const kinds = jobs.map(({ kind }) => kind)

  const drain = Effect.fnUntraced(function* ({ kind, step }: RetentionJob) {
    let total = 0
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const done = yield* step(yield* now, BATCH)
      total += done
      if (done < BATCH) break
    }
    if (total > 0) yield* Metric.update(Metric.withAttributes(sweptRows, { kind }), total)
    return total
  })

  /** Runs each job once. Returns the rows by kind; a job that fails is omitted and runs again in the next sweep. */
  const sweep = Effect.gen(function* () {
    const swept: Record<string, number> = {}
    let failure: Cause.Cause<never> | undefined
    for (const job of jobs) {
      const exit = yield* Effect.exit(drain(job))
      if (Exit.isSuccess(exit)) swept[job.kind] = exit.value
      else if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause)
      else failure ??= exit.cause
    }
    if (failure !== undefined) {
      const failed = kinds.filter((kind) => swept[kind] === undefined)
      yield* Effect.logWarning(`Sweep failed for ${failed.join(", ")}; the sweeper retries in a minute`, failure)
    }
    const done = Object.entries(swept).filter(([, rows]) => rows > 0)
    if (done.length > 0) {
      yield* Effect.logInfo("Swept").pipe(Effect.annotateLogs(Object.fromEntries(done)))
    }
    return swept
  }).pipe(Effect.withSpan("Sweeper.sweep"))

  return { kinds, sweep }
})

/** Runs the retention jobs. {@link Retention} defines the retention periods. */
export class Sweeper extends Context.Service<Sweeper, Effect.Success<typeof make>>()("keyshelf/maintenance/Sweeper") {
  static readonly layer = Layer.effect(Sweeper, make)
}
