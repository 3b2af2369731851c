/** Keeps plans at the indexes: queues change too fast for their statistics. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"

/**
 * Lets the statements that follow in this transaction go by index, whatever the statistics say, and keeps their plans. With
 * `nested` each row of one table looks up those of the other, too: no table is read whole to be joined.
 */
export const planByIndex = (sql: PgClient.PgClient, joins: "any" | "nested" = "any"): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.orDie(sql`
      SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('enable_sort', 'off', true), set_config('jit', 'off', true),
        set_config('plan_cache_mode', 'force_generic_plan', true)
        ${joins === "any" ? sql`` : sql`, set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`}`),
  )
