/**
 * Applies all operations that count usage: optimistically where that is enough, else under locks
 * (`docs/adr/0006-optimistic-ledger.md`). Callers do not choose.
 */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { meterName, setAccount } from "./Account.ts"
import { makeCallerGroupCommit } from "./CallerGroupCommit.ts"
import { LedgerRepo } from "./LedgerRepo.ts"
import { LockedLedger } from "./LockedLedger.ts"
import type { LockedOperations } from "./LockedAccounts.ts"
import { decideOperation, metersOf } from "./Operation.ts"
import type { LockedOperation, Operation } from "./Operation.ts"
import { OptimisticLedger } from "./optimistic/OptimisticLedger.ts"

interface LedgerOperations {
  /**
   * Counts what the operation uses and returns its answer, or rejects it. In a transaction, it applies within that one.
   */
  readonly apply: <A, E>(operation: Operation<A, E> | LockedOperation<A, E>) => Effect.Effect<A, E, Caller>
  /** The usage entries of these meters for their periods at an instant. */
  readonly entries: LockedOperations["entries"]
}

type AnyOperation = Operation<unknown, unknown>

const make = Effect.gen(function* () {
  const repo = yield* LedgerRepo
  const optimistic = yield* OptimisticLedger
  const locked = yield* LockedLedger

  /** Applies operations of one caller in order, in one transaction. Each has its own answer or rejection. */
  const applyUnderLocks = Effect.fnUntraced(function* (operations: ReadonlyArray<AnyOperation>) {
    const caller = yield* Caller
    const { organizationId } = caller
    const names = new Map(operations.flatMap(({ meters }) => meters.map((name) => [meterName(name), name] as const)))
    const explain = operations.some((operation) => operation.explain === true)
    const found = yield* repo.lockShared(organizationId, [...names.values()], yield* now, explain)
    const meters = new Map(found.map((meter) => [meterName(meter), meter] as const))
    const at = yield* now
    const prepared = yield* Effect.forEach(operations, (operation) => {
      const result = operation.prepare(metersOf(operation, meters), at)
      return Effect.exit(Effect.isEffect(result) ? result : Effect.succeed(result))
    })
    const uses = prepared.flatMap((exit) => (Exit.isSuccess(exit) ? exit.value.uses : []))
    const accounts = new Map(uses.length === 0 ? [] : yield* locked.open(organizationId, uses))
    const answers = prepared.map((exit): Exit.Exit<unknown, unknown> => {
      if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
      const result = decideOperation(exit.value, accounts)
      if (result === undefined) return Exit.die(new Error("A locked total is missing"))
      for (const [name, account] of result.accounts) setAccount(accounts, name, account)
      return result.answer
    })
    yield* locked.close(caller, [...accounts.values()])
    return answers
  })

  const applyGrouped = yield* makeCallerGroupCommit(applyUnderLocks)

  const applyOperation = (operation: AnyOperation) =>
    operation.explain === true
      ? applyGrouped(operation)
      : Effect.flatMap(optimistic.apply(operation), (answer) =>
          Option.isSome(answer) ? answer.value : applyGrouped(operation),
        )

  const apply = (operation: AnyOperation | LockedOperation<unknown, unknown>) => {
    if ("applyTo" in operation) return operation.applyTo(locked)
    const { underKey } = operation
    if (underKey === undefined) return applyOperation(operation)
    return Effect.flatMap(Effect.serviceOption(Transaction), (transaction) =>
      Option.isSome(transaction) ? underKey().applyTo(locked) : applyOperation(operation),
    )
  }

  return { apply: apply as LedgerOperations["apply"], entries: locked.entries }
})

/** The ledger of usage. */
export class Ledger extends Context.Service<Ledger, LedgerOperations>()("keyshelf/usage/ledger/Ledger") {
  static readonly layer = Layer.effect(Ledger, make)
}
