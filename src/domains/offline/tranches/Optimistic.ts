/**
 * Refills without locks: all that wait share one statement that reads and one that stores, as those who consume do
 * (`docs/adr/0006-optimistic-ledger.md`). What needs more, such as the first refill of a ledger, is left to the locked one.
 */
import { Effect, Exit, Option } from "effect"
import { makeGroupCommit } from "../../../kernel/concurrency/GroupCommit.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { meterName, totalKeyOf, totalNameOf } from "../../usage/ledger/Account.ts"
import type { MeterSnapshot } from "../../usage/ledger/optimistic/SnapshotSql.ts"
import { slugsUsed } from "../../usage/siteusage/Counting.ts"
import { changeOf } from "../../usage/tranches/Changes.ts"
import { countRefilled } from "../../usage/tranches/Metrics.ts"
import { Tranches } from "../../usage/tranches/Service.ts"
import { decideWithoutLocks } from "../../usage/tranches/WithoutLocks.ts"
import { follow } from "../ledgers/Rules.ts"
import type { LedgerLine } from "../ledgers/Rules.ts"
import type { RefillTranches } from "./Model.ts"
import { RefillsRepo } from "./Repo.ts"
import type { FoundLedger } from "./Repo.ts"
import { KEEP_MS, windowAt } from "./Rules.ts"

/** A refill of a caller. */
interface WaitingRefill {
  readonly caller: Caller["Service"]
  readonly instanceSlug: string
  readonly input: RefillTranches
  readonly lines: ReadonlyArray<LedgerLine>
}

// Of two nodes or refills that use a total, one wins each time.
const MAX_TRIES = 4

const usesOf = (lines: ReadonlyArray<LedgerLine>, at: Date) => {
  const window = windowAt(at)
  return lines.map((line) => ({ line, event: line.event, window }))
}

/** The meters that refills name. */
const metersNamed = (waiting: ReadonlyArray<WaitingRefill>, at: Date) => {
  const names = new Map(
    waiting.flatMap(({ caller: { organizationId }, input, instanceSlug: instance, lines }) => {
      const slugs = slugsUsed({ id: "", slug: instance }, usesOf(lines, at), at)
      return [...slugs, ...(input.tranches ?? []).map(({ entitlement }) => entitlement)].map((entitlement) => {
        const name = { organizationId, instance, entitlement }
        return [organizationId + meterName(name), name] as const
      })
    }),
  )
  return [...names.values()]
}

const decideOne = (
  { caller, input, instanceSlug, lines }: WaitingRefill,
  ledger: FoundLedger | undefined,
  snapshotOf: (instanceId: string) => ReadonlyArray<MeterSnapshot>,
  at: Date,
) => {
  if (ledger === undefined || ledger.closedAt !== null) return undefined
  const followed = follow(ledger, lines)
  if (followed.status !== "FOLLOWS") return undefined
  const instance = { id: ledger.instanceId, slug: instanceSlug }
  const wanted = {
    ledger: input.source,
    uses: usesOf(followed.added, at),
    tranches: input.tranches ?? [],
    close: false,
  }
  const read = { instance, snapshot: snapshotOf(instance.id), stored: ledger.own }
  const decided = decideWithoutLocks(caller, read, wanted, at)
  return decided && { ...decided, ledger, position: followed.position }
}

type Decided = NonNullable<ReturnType<typeof decideOne>>

/** What became of a refill. After a conflict something that it uses has changed: it is tried again. */
type Outcome = Decided | "conflict" | "needs locks"

/** Those of the decided refills that share no total and no ledger with one before. */
const apart = (decided: ReadonlyArray<Decided | undefined>): ReadonlyArray<Outcome> => {
  const used = new Set<string>()
  return decided.map((one) => {
    if (one === undefined) return "needs locks"
    const totals = one.accounts.map(({ meter, period }) => totalNameOf(totalKeyOf({ meter, at: period.start })))
    const names = [one.ledger.location, ...totals]
    if (names.some((name) => used.has(name))) return "conflict"
    for (const name of names) used.add(name)
    return one
  })
}

const storing = (refills: RefillsRepo["Service"]) =>
  Effect.fnUntraced(function* (decided: ReadonlyArray<readonly [WaitingRefill, Decided]>, at: Date) {
    const keepUntil = new Date(at.getTime() + KEEP_MS)
    const changes = yield* Effect.forEach(
      decided.flatMap(([{ caller }, { after }], index) => after.map((one) => ({ one, caller, refill: index + 1 }))),
      ({ caller: { actor }, one, refill }) => Effect.map(newId, (id) => ({ refill, actor, change: changeOf(one, id) })),
    )
    return yield* refills.store(
      {
        ledgers: decided.map(([, { accounts, ledger, position }]) => ({
          location: ledger.location,
          version: ledger.version,
          position,
          keepUntil,
          totals: accounts.length,
        })),
        accounts: decided.flatMap(([, { accounts }], index) =>
          accounts.map((account) => ({ refill: index + 1, account })),
        ),
        changes,
      },
      at,
    )
  })

/** Decides all that wait on what one statement read, and stores it by another. */
const committing = (readMeters: NonNullable<Tranches["Service"]["readMeters"]>, refills: RefillsRepo["Service"]) => {
  const store = storing(refills)

  return Effect.fnUntraced(function* (waiting: ReadonlyArray<WaitingRefill>) {
    const at = yield* now
    const ledgers = waiting.map(({ caller: { organizationId }, input: { source }, instanceSlug: instance }) => ({
      organizationId,
      instance,
      source,
    }))
    const named = metersNamed(waiting, at)
    const [snapshots, found] = yield* Effect.all(
      [named.length === 0 ? Effect.succeed([]) : readMeters(named, at), refills.find(ledgers, at)],
      { concurrency: 2 },
    )
    const byInstance = Map.groupBy(snapshots, ({ meter }) => meter.instanceId)
    const outcomes = apart(
      waiting.map((one, index) => decideOne(one, found.get(index), (id) => byInstance.get(id) ?? [], at)),
    )
    const decided = outcomes.flatMap((outcome, index): ReadonlyArray<readonly [WaitingRefill, Decided]> => {
      const one = waiting[index]
      return typeof outcome === "string" || one === undefined ? [] : [[one, outcome]]
    })
    const stored = decided.length === 0 ? new Set<number>() : yield* store(decided, at)
    const isStored = (outcome: Decided) => stored.has(decided.findIndex(([, one]) => one === outcome) + 1)
    return outcomes.map((outcome) => (typeof outcome === "string" || isStored(outcome) ? outcome : "conflict"))
  })
}

/** Makes what settles and refills without locks. `undefined`: nothing is stored, and the refill needs locks. */
export const optimisticRefills = Effect.gen(function* () {
  const { readMeters } = yield* Tranches
  const refills = yield* RefillsRepo
  const commit = readMeters && committing(readMeters, refills)
  const needsLocks = Exit.succeed<Outcome>("needs locks")

  // A refill that was stored although its statement failed is repeated under locks: its lines are duplicates then.
  const grouped = makeGroupCommit(
    (waiting: ReadonlyArray<WaitingRefill>) =>
      Effect.map(Effect.exit(commit === undefined ? Effect.succeed([]) : commit(waiting)), (outcomes) =>
        waiting.map((_, index) =>
          Exit.isSuccess(outcomes) ? Exit.succeed(outcomes.value[index] ?? "needs locks") : needsLocks,
        ),
      ),
    { ownerOf: ({ caller }) => caller.organizationId },
  )

  return Effect.fnUntraced(function* (
    instanceSlug: string,
    input: RefillTranches,
    lines: ReadonlyArray<LedgerLine>,
  ): Effect.fn.Return<Decided | undefined, never, Caller> {
    const caller = yield* Caller
    // Under an idempotency key, all belongs to the key's transaction.
    const isWithin = Option.isSome(yield* Effect.serviceOption(Transaction))
    if (input.close === true || isWithin || commit === undefined) return undefined
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const outcome = yield* grouped("all", { caller, instanceSlug, input, lines })
      if (outcome === "needs locks") return undefined
      if (outcome === "conflict") continue
      yield* countRefilled(outcome.tranches)
      return outcome
    }
    return undefined
  })
})
