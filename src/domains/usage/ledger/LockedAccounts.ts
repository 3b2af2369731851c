/** What the locked ledger offers to operations. Its implementation is `LockedLedger.ts`, whose first comment is the lock order. */
import type { Effect } from "effect"
import type { EventSource } from "../../events/Service.ts"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { Account, Accounts, MeterUse } from "./Account.ts"
import type { Meter, UsageEntry } from "./Model.ts"

/** Accounts under locks, as an operation uses them within its transaction. */
export interface LockedAccounts {
  /**
   * The accounts of these uses, locked until the transaction ends. They contain what was committed while the locks were
   * waited for.
   */
  readonly open: (organizationId: OrganizationId, uses: ReadonlyArray<MeterUse>) => Effect.Effect<Accounts>
  /** The account of a meter in a period that may be over, locked as by `open`. */
  readonly openPeriod: (meter: Meter, periodStart: Date) => Effect.Effect<Account | undefined>
  /**
   * Returns to credits what an event of this number burned, to the same ones, whatever their state. Returns the account after that. The
   * uses are voided at the instant.
   */
  readonly returnCredits: (account: Account, ordinal: number, at: Date) => Effect.Effect<Account>
  /** Stores accounts that `open` has locked, and emits an event for each threshold that they crossed. */
  readonly close: (caller: EventSource, accounts: ReadonlyArray<Account>) => Effect.Effect<void, never, Transaction>
  /** The usage entries of these meters for their periods at an instant. */
  readonly entries: (
    organizationId: OrganizationId,
    meters: ReadonlyArray<Meter>,
    at: Date,
  ) => Effect.Effect<ReadonlyArray<UsageEntry>>
}

/** What the ledger does under locks. */
export interface LockedOperations extends LockedAccounts {
  /**
   * Runs work in a transaction. The work returns a rejection for a cap as a value, so that the event of the cap
   * commits. Under an idempotency key the rejection rolls back the key's transaction: then the event is emitted
   * afterwards, before the response.
   */
  readonly runWithCapEvent: <A, E, R>(
    work: Effect.Effect<A, E, R>,
    accountWithCapExceeded: (answer: A) => Account | undefined,
  ) => Effect.Effect<A, E, Exclude<R, Transaction> | Caller>
}
