/** Transactions: every change of state and its event commit together or not at all. */
import { Context } from "effect"
import type { Effect } from "effect"

/** Proof that a transaction is open. Writing an event needs it, so an event outside a transaction does not compile. */
export class Transaction extends Context.Service<Transaction, { readonly open: true }>()(
  "keyshelf/kernel/Transaction",
) {}

/** Runs work in one database transaction; a failure or interruption rolls everything back. */
export class Transactions extends Context.Service<
  Transactions,
  {
    /** Nested calls join the outer transaction. Conflicts that the database asks to retry are retried. */
    readonly run: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Transaction>>
  }
>()("keyshelf/kernel/Transactions") {}
