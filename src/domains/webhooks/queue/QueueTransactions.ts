/**
 * Transactions on the queue, planned by index. The queue changes too fast for its statistics: by these, the planner
 * takes a long queue for a short one and reads it completely.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { keepingPlans } from "../../../kernel/database/Statements.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"

/** How the statements of a queue transaction are planned. */
interface QueuePlan {
  /** With `nested`, joins are nested loops over an index, and no table is read completely to be joined. */
  readonly joins: "any" | "nested"
}

/** Opens transactions on the queue. */
export class QueueTransactions extends Context.Service<
  QueueTransactions,
  {
    /**
     * Runs work in one transaction whose statements are planned by index, whatever the statistics say. Inside another
     * transaction, the plan holds from here until that one ends.
     */
    readonly run: <A, E, R>(
      work: Effect.Effect<A, E, R>,
      plan?: QueuePlan,
    ) => Effect.Effect<A, E, Exclude<R, Transaction>>
  }
>()("keyshelf/webhooks/queue/QueueTransactions") {
  static readonly layer = Layer.effect(
    QueueTransactions,
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const transactions = yield* Transactions
      const kept = sql.literal(yield* keepingPlans(sql))

      // Each part has a reason:
      // - Every delivery leaves a dead entry in the index of leases. An index scan marks it and skips it from then on; a bitmap
      //   scan would read it again in each claim until the next vacuum.
      // - Of the outbox, other plans read all waiting events for the few that are taken. Of a queue that was short a moment
      //   ago, they read and sort a whole organization.
      // - Generic plans are kept, because no lane or endpoint has a better one.
      const planByIndex = (joins: QueuePlan["joins"]) =>
        Effect.orDie(sql`
          SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
            set_config('enable_sort', 'off', true), ${kept}
            ${joins === "any" ? sql`` : sql`, set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`}`)
      const plans = { any: planByIndex("any"), nested: planByIndex("nested") }

      return QueueTransactions.of({
        run: (work, { joins } = { joins: "any" }) => transactions.run(Effect.andThen(plans[joins], work)),
      })
    }),
  )
}
