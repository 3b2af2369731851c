/** SQL of the engine's gauges: bounded, so that a long queue costs no more than a short one. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { records } from "../kernel/Sql.ts"

/** How full the queue and the outbox are. */
export interface Sample {
  readonly due: number
  readonly future: number
  readonly leased: number
  readonly oldestDueAt: Date | null
  readonly oldestOutboxAt: Date | null
}

const MOST_COUNTED = 100_000

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    /** Counts at most 100,000 rows. */
    sample: (at: Date) =>
      Effect.map(
        records<Sample>()(sql`
          SELECT counted.*,
            (SELECT min(head_due_at) FROM webhook_lanes WHERE head_due_at <= ${at}) AS "oldestDueAt",
            (SELECT min(due_at) FROM webhook_outbox) AS "oldestOutboxAt"
          FROM (
            SELECT (count(*) FILTER (WHERE due_at <= ${at}))::int AS due,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NULL))::int AS future,
              (count(*) FILTER (WHERE due_at > ${at} AND lease IS NOT NULL))::int AS leased
            FROM (SELECT due_at, lease FROM webhook_queue LIMIT ${MOST_COUNTED}) AS queue
          ) AS counted`),
        ([row]): Sample => row ?? { due: 0, future: 0, leased: 0, oldestDueAt: null, oldestOutboxAt: null },
      ),
  }
})

/** Samples of the tables. */
export class SamplingRepo extends Context.Service<SamplingRepo, Effect.Success<typeof make>>()(
  "keyshelf/webhooks/SamplingRepo",
) {
  static readonly layer = Layer.effect(SamplingRepo, make)
}
