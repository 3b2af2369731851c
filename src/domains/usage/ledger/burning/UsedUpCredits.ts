/** The event that a credit is used up: a port, because credits know the ledger, and not the other way round. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { EventSource } from "../../../events/Service.ts"
import type { Transaction } from "../../../../kernel/database/Transactions.ts"

/** Emits what the last unit of a credit emits. */
export class UsedUpCredits extends Context.Service<
  UsedUpCredits,
  {
    /** Emits an event for each of these credits. */
    readonly emit: (source: EventSource, ids: ReadonlyArray<string>) => Effect.Effect<void, never, Transaction>
  }
>()("keyshelf/usage/ledger/burning/UsedUpCredits") {}
