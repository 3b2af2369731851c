/** Transactions: every change of state and its event commit together or not at all. */
import { Context } from "effect"
import type { Effect } from "effect"

/** Proof that a transaction is open. Writing an event needs it, so an event outside a transaction does not compile. */
export class Transaction extends Context.Service<
  Transaction,
  {
    readonly open: true
    /**
     * Keeps work for the case that the transaction is rolled back by a refusal: it is then done behind the transaction,
     * before whoever ran it is told. After a commit or a defect it is not done.
     */
    readonly afterRollback: (work: Effect.Effect<void>) => void
  }
>()("keyshelf/kernel/Transaction") {}

/** Runs work in one database transaction; a failure or interruption rolls everything back. */
export class Transactions extends Context.Service<
  Transactions,
  {
    /** Nested calls join the outer transaction. Conflicts that the database asks to retry are retried. */
    readonly run: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Transaction>>
  }
>()("keyshelf/kernel/Transactions") {}
