/** The `Transactions` port on the SQL client: a transaction that loses a conflict runs again. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schedule } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { makeFairQueue } from "../../kernel/concurrency/FairQueue.ts"
import { RequestOwner } from "../../kernel/contract/Caller.ts"
import { isReadOnly } from "../../kernel/database/Statements.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import { ReadOnlyConnections } from "./ReadOnlyConnections.ts"

// Retries only conflicts after which the database has rolled back. A connection lost during COMMIT is not retried,
// because that transaction may have committed.
const isConflict = (error: unknown): boolean =>
  isSqlError(error) && (error.reason._tag === "DeadlockError" || error.reason._tag === "SerializationError")

// Each transaction has a connection of its own. An organization leaves half of the pool to others.
const sharesOf = (connections = 1) => ({ perKey: Math.max(1, Math.floor(connections / 2)), total: connections })

// Work after a rollback is part of the same turn. If it waited for another one, requests that all hold one would wait for
// each other.
const withinTurn = Effect.updateContext(Context.omit(RequestOwner))

/** Carries a result out of a transaction that is rolled back. */
class Undone<A> {
  readonly result: A
  constructor(result: A) {
    this.result = result
  }
}

/** Fails with the result of work, so that its transaction rolls back. {@link caught} returns it. */
const undone = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<never, E | Undone<A>, R> =>
  Effect.flatMap(work, (result) => Effect.fail(new Undone(result)))

const caught = <A, E, R>(work: Effect.Effect<never, E | Undone<A>, R>) =>
  Effect.catchIf(
    work,
    (error): error is Undone<A> => error instanceof Undone,
    ({ result }) => Effect.succeed(result),
  ) as Effect.Effect<A, E, R>

const rehearsed: Transaction["Service"] = { open: true, afterRollback: () => undefined }

/** {@link Transactions} on the SQL client, retried on conflicts. */
export const layer = Layer.effect(
  Transactions,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const { maxConnections }: PgClient.PgPoolConfig = sql.config
    const inTurn = makeFairQueue(sharesOf(maxConnections))
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
          Effect.tapError(() => withinTurn(Effect.all(rolledBack, { discard: true }))),
        )
      })
    const inTurnOfOwner = <A, E, R>(transaction: Effect.Effect<A, E, R>) =>
      Effect.withFiber<A, E, R>(({ context }) => {
        const owner = Context.getOrUndefined(context, RequestOwner)
        // Workers bound their transactions themselves.
        return owner === undefined ? transaction : inTurn(owner.organizationId ?? "", 1, transaction)
      })
    const rehearse = <A, E, R, B>(
      work: Effect.Effect<A, E, R>,
      after: (result: A) => Effect.Effect<Effect.Effect<B>>,
    ) => {
      const changed = Effect.provideService(work, Transaction, rehearsed).pipe(
        Effect.flatMap((result) => Effect.map(after(result), (before) => ({ result, before }))),
      )
      const transaction = Effect.gen(function* () {
        const { before, result } = yield* caught(sql.withTransaction(undone(changed)))
        return [result, yield* before] as const
      })
      return inTurnOfOwner(caught(begin(undone(transaction))))
    }
    return Transactions.of({
      run: ((work: Effect.Effect<unknown, unknown, unknown>) =>
        Effect.withFiber(({ context }) =>
          Context.getOrUndefined(context, Transaction) !== undefined ? work : inTurnOfOwner(begin(work)),
        )) as Transactions["Service"]["run"],
      rehearse: rehearse as Transactions["Service"]["rehearse"],
    })
  }),
)
