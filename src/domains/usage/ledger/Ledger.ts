/**
 * Applies operations to accounts: optimistically where that is enough, else under locks
 * (`docs/adr/0006-optimistic-ledger.md`). Callers do not choose. What needs statements of its own between lock and
 * decision uses the locked ledger itself: reservations, transaction ids, reports that set a total, and batches.
 */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { meterName } from "./Account.ts"
import { makeCallerGroupCommit } from "./CallerGroupCommit.ts"
import { LedgerRepo } from "./LedgerRepo.ts"
import { LockedLedger } from "./LockedLedger.ts"
import { decideOperation, metersOf } from "./Operation.ts"
import type { Operation } from "./Operation.ts"
import { OptimisticLedger } from "./OptimisticLedger.ts"

interface LedgerOperations {
  /**
   * Counts what the operation uses and returns its answer, or rejects it. In a transaction, it applies within that one.
   */
  readonly apply: <A, E>(operation: Operation<A, E>) => Effect.Effect<A, E, Caller>
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
    const found = yield* repo.keep(organizationId, [...names.values()], explain)
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
      for (const [name, account] of result.accounts) accounts.set(name, account)
      return result.answer
    })
    yield* locked.close(caller, [...accounts.values()])
    return answers
  })

  const applyGrouped = yield* makeCallerGroupCommit(applyUnderLocks)

  const apply = (operation: AnyOperation) =>
    operation.explain === true
      ? applyGrouped(operation)
      : Effect.flatMap(optimistic.apply(operation), (answer) =>
          Option.isSome(answer) ? answer.value : applyGrouped(operation),
        )

  return { apply: apply as LedgerOperations["apply"] }
})

/** The ledger of usage. */
export class Ledger extends Context.Service<Ledger, LedgerOperations>()("keyshelf/usage/ledger/Ledger") {
  static readonly layer = Layer.effect(Ledger, make)
}
