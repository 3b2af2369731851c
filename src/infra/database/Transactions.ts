/** The `Transactions` port on the SQL client: a transaction that loses a conflict runs again. */
import { Effect, Layer, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import { isReadOnly } from "../../kernel/database/Statements.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import { ReadOnlyConnections } from "./ReadOnlyConnections.ts"

// Retries only conflicts after which the database has rolled back. A connection lost during COMMIT is not retried,
// because that transaction may have committed.
const isConflict = (error: unknown): boolean =>
  isSqlError(error) && (error.reason._tag === "DeadlockError" || error.reason._tag === "SerializationError")

/** {@link Transactions} on the SQL client, retried on conflicts. */
export const layer = Layer.effect(
  Transactions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { noticed } = yield* ReadOnlyConnections
    const backOff = Schedule.exponential("5 millis").pipe(Schedule.jittered)
    const begin = <A, E, R>(work: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        let rolledBack: Array<Effect.Effect<void>> = []
        const attempt = Effect.suspend(() => {
          rolledBack = []
          const afterRollback = (effect: Effect.Effect<void>) => void rolledBack.push(effect)
          return sql.withTransaction(Effect.provideService(work, Transaction, { open: true, afterRollback }))
        })
        return attempt.pipe(
          Effect.catchDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
          Effect.retry({ schedule: backOff, times: 5, while: isConflict }),
          Effect.catchIf(isSqlError, (error) => {
            if (isReadOnly(error)) noticed()
            return Effect.die(error)
          }),
          Effect.tapError(() => Effect.all(rolledBack, { discard: true })),
        )
      })
    return Transactions.of({
      run: ((work: Effect.Effect<unknown, unknown, unknown>) =>
        Effect.flatMap(Effect.serviceOption(Transaction), (outer) =>
          Option.isSome(outer) ? work : begin(work),
        )) as Transactions["Service"]["run"],
    })
  }),
)
