/** Samples the depth and age of the queue and the outbox into gauges. */
import { Context, Effect, Layer, Metric } from "effect"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import * as metrics from "../Metrics.ts"
import { QueueMaintenanceRepo } from "./Repo.ts"

/** Samples the queue. */
export class QueueSampler extends Context.Service<QueueSampler, { readonly sample: Effect.Effect<void> }>()(
  "keyshelf/webhooks/maintenance/QueueSampler",
) {
  static readonly layer = Layer.effect(
    QueueSampler,
    Effect.gen(function* () {
      const repo = yield* QueueMaintenanceRepo
      const transactions = yield* Transactions
      return QueueSampler.of({
        sample: Effect.gen(function* () {
          const at = yield* now
          // In a transaction, and so on a dedicated connection: behind a lock on the tables it must not block requests.
          const sample = yield* transactions.run(repo.sample(at))
          const age = (since: Date | null) => (since === null ? 0 : Math.max(0, at.getTime() - since.getTime()) / 1000)
          yield* Metric.update(metrics.queueDepth.due, sample.due)
          yield* Metric.update(metrics.queueDepth.future, sample.future)
          yield* Metric.update(metrics.queueDepth.leased, sample.leased)
          yield* Metric.update(metrics.oldestDueAge, age(sample.oldestDueAt))
          yield* Metric.update(metrics.outboxAge, age(sample.oldestOutboxAt))
        }),
      })
    }),
  )
}
