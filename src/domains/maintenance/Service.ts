/**
 * The sweeper: emits the expiry events of tokens and deletes rows whose retention has ended and those of removed
 * organizations. Each batch commits separately, which keeps transactions short. Batches skip rows that another node has
 * locked, so any number of nodes can sweep concurrently.
 */
import { Cause, Context, Effect, Exit, Layer, Metric } from "effect"
import { now } from "../../kernel/values/Timestamp.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { TokenRetention } from "../access/tokens/Retention.ts"
import { EventRetention } from "../audit/Retention.ts"
import { IdempotencyRetention } from "../idempotency/Retention.ts"
import { OfflineRetention } from "../offline/Retention.ts"
import { UsageRetention } from "../usage/Retention.ts"
import { WebhookRetention } from "../webhooks/Retention.ts"
import { OrganizationRemoval } from "./OrganizationRemoval.ts"

/** Rows per transaction. */
const BATCH_SIZE = 1000

// The limit of one retention job per sweep, so that a backlog does not delay the other jobs.
const MAX_BATCHES = 100

const sweptRows = Metric.counter("keyshelf_sweeper_rows_total", {
  description: "Rows deleted or emitted as events by the sweeper, by kind",
  incremental: true,
})

/** Runs the retention jobs of all domains. */
export class Sweeper extends Context.Service<
  Sweeper,
  {
    /** The kinds of rows that a sweep processes. */
    readonly kinds: ReadonlyArray<string>
    /** Runs each job once. Returns the rows by kind; a job that fails is omitted and runs again in the next sweep. */
    readonly sweep: Effect.Effect<Readonly<Record<string, number>>>
  }
>()("keyshelf/maintenance/Sweeper") {
  static readonly layer = Layer.suspend(() => Layer.effect(Sweeper, make))
}

const make = Effect.gen(function* () {
  const jobs: ReadonlyArray<RetentionJob> = [
    ...(yield* TokenRetention).jobs,
    ...(yield* IdempotencyRetention).jobs,
    ...(yield* UsageRetention).jobs,
    ...(yield* OfflineRetention).jobs,
    ...(yield* WebhookRetention).jobs,
    ...(yield* EventRetention).jobs,
    ...(yield* OrganizationRemoval).jobs,
  ]

  const kinds = jobs.map(({ kind }) => kind)

  const drain = Effect.fnUntraced(function* ({ kind, step }: RetentionJob) {
    let total = 0
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const done = yield* step(yield* now, BATCH_SIZE)
      total += done
      if (done < BATCH_SIZE) break
    }
    if (total > 0) yield* Metric.update(Metric.withAttributes(sweptRows, { kind }), total)
    return total
  })

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
