/** Transactions: every change and its event commit atomically. */
import { Context } from "effect"
import type { Effect } from "effect"

/**
 * Proof that a transaction is open. Emitting an event requires it, so an event outside a transaction does not compile.
 */
export class Transaction extends Context.Service<
  Transaction,
  {
    readonly open: true
    /**
     * Registers work to run if a failure rolls the transaction back. It runs after the rollback, before the failure
     * reaches the caller. It does not run after a commit or a defect.
     */
    readonly afterRollback: (work: Effect.Effect<void>) => void
  }
>()("keyshelf/kernel/Transaction") {}

/** Runs work in one database transaction; a failure or interruption rolls everything back. */
export class Transactions extends Context.Service<
  Transactions,
  {
    /** Nested calls join the outer transaction. Serialization failures and deadlocks are retried. */
    readonly run: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Transaction>>
    /**
     * Runs work in a transaction of its own and undoes it. `after` reads what the work changed, and returns an effect
     * that reads the state before it. That effect runs once the work is undone, in the same transaction. Work
     * registered for a rollback is dropped.
     */
    readonly rehearse: <A, E, R, B>(
      work: Effect.Effect<A, E, R>,
      after: (result: A) => Effect.Effect<Effect.Effect<B>>,
    ) => Effect.Effect<readonly [result: A, before: B], E, Exclude<R, Transaction>>
  }
>()("keyshelf/kernel/Transactions") {}
