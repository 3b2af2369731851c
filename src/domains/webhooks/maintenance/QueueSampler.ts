/** Samples the depth and age of the queue and the outbox into gauges. */
import { Context, Effect, Layer, Metric } from "effect"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import * as metrics from "../Metrics.ts"
import { SamplingRepo } from "./Repo.ts"

/** Takes samples. */
export class Sampling extends Context.Service<Sampling, { readonly sample: Effect.Effect<void> }>()(
  "keyshelf/webhooks/Sampling",
) {
  static readonly layer = Layer.effect(
    Sampling,
    Effect.gen(function* () {
      const repo = yield* SamplingRepo
      const transactions = yield* Transactions
      return Sampling.of({
        sample: Effect.gen(function* () {
          const at = yield* now
          // On a connection of its own: while somebody changes the tables it waits, and no request may wait behind it.
          const sample = yield* transactions.run(repo.sample(at))
          const age = (since: Date | null) => (since === null ? 0 : Math.max(0, at.getTime() - since.getTime()) / 1000)
          yield* Metric.update(metrics.queue.due, sample.due)
          yield* Metric.update(metrics.queue.future, sample.future)
          yield* Metric.update(metrics.queue.leased, sample.leased)
          yield* Metric.update(metrics.oldestDue, age(sample.oldestDueAt))
          yield* Metric.update(metrics.outboxAge, age(sample.oldestOutboxAt))
        }),
      })
    }),
  )
}
