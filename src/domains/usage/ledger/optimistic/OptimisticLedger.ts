/**
 * Applies operations without locks: one statement reads the accounts of all that wait, one stores those that changed,
 * if no other transaction has changed them since. Nearly all usage is counted this way; the rest needs the locked
 * ledger.
 */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { makeGroupCommit } from "../../../../kernel/concurrency/GroupCommit.ts"
import { mayHaveCommitted } from "../../../../kernel/database/Statements.ts"
import { Transaction } from "../../../../kernel/database/Transactions.ts"
import { now } from "../../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import {
  accountName,
  accountOf,
  isChanged,
  meterName,
  methodOf,
  needsLocks,
  periodFor,
  setAccount,
} from "../Account.ts"
import type { Account } from "../Account.ts"
import type { Meter } from "../Model.ts"
import { decideOperation, metersOf } from "../Operation.ts"
import type { Operation } from "../Operation.ts"
import { OptimisticRepo } from "./OptimisticRepo.ts"
import type { MeterSnapshot } from "./SnapshotSql.ts"

interface OptimisticOperations {
  /**
   * The answer of an operation that was counted. None, with nothing counted, if the operation needs locks. Dies if the
   * database went away while it stored: the usage may have been counted then and must not be counted again.
   */
  readonly apply: <A, E>(operation: Operation<A, E>) => Effect.Effect<Option.Option<Exit.Exit<A, E>>>
}

type AnyOperation = Operation<unknown, unknown>

/**
 * What became of an operation. After a conflict another transaction has changed one of its accounts: it is tried again.
 */
type Outcome = { readonly answer: Exit.Exit<unknown, unknown> } | "conflict" | "needs locks"

/** The outcomes that are known; dead where the database may have committed. */
type Outcomes = ReadonlyMap<AnyOperation, Exit.Exit<Outcome>>

type ByOrganization = ReadonlyMap<OrganizationId, ReadonlyArray<AnyOperation>>

// Of two nodes that count on the same account, one wins each time, so that the other soon wins too. A try takes two
// statements for all operations that wait. The locked ledger takes five, and blocks the account meanwhile: it is for
// operations that never win.
const MAX_TRIES = 8

// Operations on more meters are large: a statement takes a few of them.
const MAX_METERS = 10
const MAX_LARGE_OPERATIONS = 4

const noOrganization: ReadonlySet<string> = new Set()

const byOrganization = (operations: ReadonlyArray<AnyOperation>): ByOrganization =>
  Map.groupBy(operations, ({ organizationId }) => organizationId)

/** The meters by {@link meterName}, and the accounts of those that were used in the period of the instant. */
export const accountsOfSnapshot = (snapshot: ReadonlyArray<MeterSnapshot>, at: Date) => {
  const meters = new Map<string, Meter>()
  const accounts = new Map<string, Account>()
  for (const { credits, meter: found, total } of snapshot) {
    const name = meterName(found)
    const meter = meters.get(name) ?? found
    meters.set(name, meter)
    const period = periodFor(meter, at)
    if (total?.periodStart.getTime() === period.start.getTime()) {
      accounts.set(accountName({ meter, at }), accountOf(meter, period, total, { credits }))
    }
  }
  return { meters, accounts }
}

/** Decides operations of one organization in order, each on the accounts that those before it leave. */
const decideInOrder = (operations: ReadonlyArray<AnyOperation>, snapshot: ReadonlyArray<MeterSnapshot>, at: Date) => {
  const { accounts, meters } = accountsOfSnapshot(snapshot, at)
  const outcomeOf = (operation: AnyOperation): Outcome => {
    const found = metersOf(operation, meters)
    if (found.length < operation.meters.length) return "needs locks"
    const prepared = operation.prepare(found, at)
    // Which keys were counted is read under locks only.
    if (Effect.isEffect(prepared) || prepared.uses.some(({ meter }) => methodOf(meter) === "UNIQUE_COUNT")) {
      return "needs locks"
    }
    const result = decideOperation(prepared, accounts)
    if (result === undefined || [...result.accounts.values()].some(needsLocks)) return "needs locks"
    for (const [name, account] of result.accounts) setAccount(accounts, name, account)
    return { answer: result.answer }
  }
  const outcomes = operations.map((operation) => ({ operation, outcome: outcomeOf(operation) }))
  return { outcomes, changed: [...accounts.values()].filter(isChanged) }
}

/** Counts operations as far as it can without locks. An operation without an outcome is left to the locked ledger. */
const counting = (repo: OptimisticRepo["Service"]) => {
  /** Reads the accounts of operations and decides on them, each organization's by itself. */
  const decideAll = Effect.fnUntraced(function* (organizations: ByOrganization) {
    const at = yield* now
    const names = new Map(
      [...organizations.values()]
        .flat()
        .flatMap(({ meters, organizationId }) =>
          meters.map((name) => [organizationId + meterName(name), { organizationId, ...name }] as const),
        ),
    )
    const snapshots = Map.groupBy(yield* repo.read([...names.values()], at), ({ meter }) => meter.organizationId)
    const shares = Array.from(organizations, ([organizationId, operations]) => ({
      organizationId,
      ...decideInOrder(operations, snapshots.get(organizationId) ?? [], at),
    }))
    return { at, shares }
  })

  /** Counts operations, of whatever organizations, by one statement that reads and one that stores. */
  const count = Effect.fnUntraced(function* (organizations: ByOrganization) {
    const { at, shares } = yield* decideAll(organizations)
    const changed = shares.flatMap((share) => share.changed)
    const stored = yield* Effect.exit(changed.length === 0 ? Effect.succeed(noOrganization) : repo.store(changed, at))
    if (Exit.isFailure(stored) && !mayHaveCommitted(stored.cause)) return yield* Effect.failCause(stored.cause)
    return new Map(
      shares.flatMap(({ changed: own, organizationId, outcomes }) =>
        outcomes.map(({ operation, outcome }) => {
          const dependsOnStore = own.length > 0 && outcome !== "needs locks"
          const afterStore = Exit.map(stored, (ids) => (ids.has(organizationId) ? outcome : "conflict"))
          return [operation, dependsOnStore ? afterStore : Exit.succeed(outcome)] as const
        }),
      ),
    )
  })

  // If a statement about several organizations dies, each is counted by itself: one organization's usage must not fail
  // another's.
  const countAll: (organizations: ByOrganization) => Effect.Effect<Outcomes> = Effect.fnUntraced(
    function* (organizations) {
      const isOne = organizations.size === 1
      if (isOne || !repo.separatesOrganizations) {
        const counted = yield* Effect.exit(count(organizations))
        if (Exit.isSuccess(counted)) return counted.value
        // Each of its operations is left to the locked ledger.
        if (isOne) return new Map()
      }
      const separate = yield* Effect.forEach(organizations, (one) => countAll(new Map([one])), {
        concurrency: "unbounded",
      })
      return new Map(separate.flatMap((counted) => [...counted]))
    },
  )

  return countAll
}

const make = Effect.gen(function* () {
  const countAll = counting(yield* OptimisticRepo)

  const countGroup = (operations: ReadonlyArray<AnyOperation>) =>
    Effect.map(countAll(byOrganization(operations)), (outcomes) =>
      operations.map((operation) => outcomes.get(operation) ?? Exit.succeed<Outcome>("needs locks")),
    )

  // All organizations share a group, so that more operations wait for each statement.
  const groupedWithAll = makeGroupCommit(countGroup, { ownerOf: ({ organizationId }: AnyOperation) => organizationId })

  // Operations on many meters take long. They have a group for each organization, so that no other one waits for them.
  const groupedWithOwn = makeGroupCommit(countGroup, { maxBatch: MAX_LARGE_OPERATIONS })

  const grouped = (operation: AnyOperation) =>
    operation.meters.length > MAX_METERS
      ? groupedWithOwn(operation.organizationId, operation)
      : groupedWithAll("all", operation)

  const apply = Effect.fnUntraced(function* (operation: AnyOperation) {
    // Under an idempotency key, all belongs to the key's transaction.
    if (Option.isSome(yield* Effect.serviceOption(Transaction))) return Option.none()
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const outcome = yield* grouped(operation)
      if (outcome === "needs locks") break
      if (outcome !== "conflict") return Option.some(outcome.answer)
    }
    return Option.none()
  })

  return { apply: apply as OptimisticOperations["apply"] }
})

/** Counts usage without locks where that is enough. */
export class OptimisticLedger extends Context.Service<OptimisticLedger, OptimisticOperations>()(
  "keyshelf/usage/ledger/optimistic/OptimisticLedger",
) {
  static readonly layer = Layer.effect(OptimisticLedger, make)
}
