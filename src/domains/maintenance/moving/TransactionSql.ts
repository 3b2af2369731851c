/** Settings of the transaction of a move. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"

/** How the transaction of a move reads. */
export const transactionSettings = (sql: PgClient.PgClient) => ({
  readSnapshot: Effect.andThen(
    sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`,
    sql`SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`,
  ),

  withoutTimeouts: sql`
    SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`,
})
