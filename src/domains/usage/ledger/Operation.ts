/** Operations on meters. Each decision is written once, in its operation; `Ledger.apply` chooses how it is applied. Pure. */
import { Effect } from "effect"
import type { Exit } from "effect"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { accountName, meterName } from "./Account.ts"
import type { Account, Accounts, MeterUse } from "./Account.ts"
import type { LockedAccounts, LockedOperations } from "./LockedAccounts.ts"
import type { Meter } from "./Model.ts"

/** Names a meter of an organization by slugs. */
export type MeterName = Pick<Meter, "instance" | "entitlement">

/** A request that uses meters: it answers `A`, or is rejected with `E`. */
export interface Operation<A, E> {
  readonly organizationId: OrganizationId
  /** The meters that the request names, whether they exist or not. */
  readonly meters: ReadonlyArray<MeterName>
  /** Whether its meters are read with what an explanation shows. Only the locked ledger reads that. */
  readonly explain?: boolean
  /**
   * How it is applied within the transaction of an idempotency key, if a rejection for a cap has to outlast it. Otherwise it
   * joins that transaction as it is.
   */
  readonly underKey?: () => LockedOperation<A, E>
  /**
   * Checks the request against those of its meters that exist, in the order of their names. It returns an effect if the
   * request is rejected or more has to be read. Then the operation needs locks.
   */
  readonly prepare: (
    meters: ReadonlyArray<Meter>,
    at: Date,
  ) => PreparedOperation<A, E> | Effect.Effect<PreparedOperation<A, E>, E>
}

/** A request that runs statements of its own between the locks and the decision, such as looking up a transaction id. */
export interface LockedOperation<A, E> {
  readonly applyTo: (ledger: LockedOperations) => Effect.Effect<A, E, Caller>
}

/** Creates a locked operation. `decide` runs in a transaction, `answer` after it. */
export const lockedOperation = <R, A, E, E2>(operation: {
  /** It returns a rejection for a cap as a value, so that the event of the cap commits. */
  readonly decide: (ledger: LockedAccounts) => Effect.Effect<R, E, Caller | Transaction>
  /** The account whose cap the result exceeds, if any. */
  readonly accountWithCapExceeded?: (result: R) => Account | undefined
  readonly answer: (result: R) => Effect.Effect<A, E2>
}): LockedOperation<A, E | E2> => ({
  applyTo: (ledger) =>
    Effect.flatMap(
      ledger.runWithCapEvent(operation.decide(ledger), operation.accountWithCapExceeded ?? (() => undefined)),
      operation.answer,
    ),
})

/** An operation whose request is valid. */
export interface PreparedOperation<A, E> {
  /** What it may post: names the accounts that the decision needs. */
  readonly uses: ReadonlyArray<MeterUse>
  /** The answer, and the accounts after it. It depends on these accounts only. */
  readonly decide: (accounts: Accounts) => OperationResult<A, E>
}

interface OperationResult<A, E> {
  readonly answer: Exit.Exit<A, E>
  readonly accounts: Accounts
}

/** Those of an operation's meters that exist, by {@link meterName}. */
export const metersOf = (
  operation: Pick<Operation<unknown, unknown>, "meters">,
  meters: ReadonlyMap<string, Meter>,
): ReadonlyArray<Meter> => operation.meters.flatMap((name) => meters.get(meterName(name)) ?? [])

/** Decides an operation on its accounts among all; `undefined` if one of them is missing. */
export const decideOperation = <A, E>(
  { decide, uses }: PreparedOperation<A, E>,
  accounts: Accounts,
): OperationResult<A, E> | undefined => {
  const own = new Map<string, Account>()
  for (const use of uses) {
    const name = accountName(use)
    const account = accounts.get(name)
    if (account === undefined) return undefined
    own.set(name, account)
  }
  return decide(own)
}
