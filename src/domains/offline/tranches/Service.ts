/** Use cases of tranches: refills settle a ledger and set units aside for its holder. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { failWithErrors, noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, MissingScope, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { Instances } from "../../instances/Service.ts"
import type { Outcome } from "../../usage/cloudevents/Model.ts"
import type { Tranche } from "../../usage/tranches/Model.ts"
import { Tranches } from "../../usage/tranches/Service.ts"
import {
  RefillTranchesLedgerClosed,
  RefillTranchesLedgerForked,
  RefillTranchesLedgerGap,
  TrancheNotFound,
} from "../Errors.ts"
import { ledgerFollowing } from "../ledgers/Following.ts"
import { ledgerStore } from "../ledgers/Intake.ts"
import { LedgersRepo } from "../ledgers/Repo.ts"
import { hashOf, lineResults, parseLines } from "../ledgers/Rules.ts"
import type { LedgerLine, LedgerPosition } from "../ledgers/Rules.ts"
import { Snapshots } from "../snapshots/Service.ts"
import type { RefilledTranches, RefillTranches } from "./Model.ts"
import { optimisticRefills } from "./Optimistic.ts"
import { KEEP_MS, trancheClaim, windowAt } from "./Rules.ts"

type Refusal = RefillTranchesLedgerClosed | RefillTranchesLedgerForked | RefillTranchesLedgerGap

const problems = {
  forked: (detail: string) => new RefillTranchesLedgerForked({ detail }),
  gap: (detail: string) => new RefillTranchesLedgerGap({ detail }),
  closed: (detail: string) => new RefillTranchesLedgerClosed({ detail }),
}

/** Refills, lists and ends what the holders of ledgers of an instance may spend without a request. */
export class InstanceTranches extends Context.Service<
  InstanceTranches,
  {
    /**
     * Stores and counts the new lines, gives back what is not kept, and refills; all of it, or nothing. Afterwards it takes a
     * snapshot, in which the holder may spend what it has at the new position of its ledger.
     */
    readonly refill: (
      instanceSlug: string,
      input: RefillTranches,
    ) => Effect.Effect<RefilledTranches, InstanceNotFound | MissingScope | Refusal | ValidationFailed, Caller>
    /** A page of what is held, by holder. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<Tranche>, InstanceNotFound | InvalidCursor, Caller>
    /** Ends all that a holder holds. It must not run any longer. */
    readonly end: (
      instanceSlug: string,
      holder: string,
    ) => Effect.Effect<void, InstanceNotFound | TrancheNotFound, Caller>
  }
>()("keyshelf/offline/tranches/InstanceTranches") {
  static readonly layer = Layer.effect(
    InstanceTranches,
    Effect.suspend(() => make),
  )
}

/** What was stored of a refill. */
interface Settled {
  readonly position: LedgerPosition
  readonly closed: boolean
  readonly refill: Parameters<typeof trancheClaim>[2] & {
    readonly outcomes: ReadonlyMap<{ readonly line: LedgerLine }, Outcome>
    readonly tranches: RefilledTranches["tranches"]
  }
}

/** The response of a refill, but for its snapshot, and the claim of that. */
const settledOf = (source: string, lines: ReadonlyArray<LedgerLine>, { closed, position, refill }: Settled) => {
  const outcomes = new Map(Array.from(refill.outcomes, ([{ line }, outcome]) => [line, outcome] as const))
  const response = { source, ...lineResults(lines, outcomes), ...position, closed, tranches: refill.tranches }
  return { tranche: trancheClaim(source, position, refill), response }
}

/** Settles the lines of a ledger and refills. Runs in a transaction, and locks the ledger until it ends. */
const settling = Effect.gen(function* () {
  const followLines = yield* ledgerFollowing
  const store = yield* ledgerStore
  const tranches = yield* Tranches

  return Effect.fnUntraced(function* (
    instanceSlug: string,
    { close = false, source, tranches: requested = [] }: RefillTranches,
    lines: ReadonlyArray<LedgerLine>,
  ) {
    const { added, instance, key, position, stored } = yield* followLines(problems, {
      instanceSlug,
      source,
      lines,
      keepMs: KEEP_MS,
      needsOpen: !close && requested.length > 0,
    })
    const window = windowAt(key.at)
    const uses = added.map((line) => ({ line, event: line.event, window }))
    const refill = yield* tranches.refill(instance, { ledger: source, uses, tranches: requested, close })
    const closedAt = stored.closedAt ?? (close ? key.at : null)
    if (added.length > 0 || closedAt !== stored.closedAt) {
      yield* store(stored, key, { ...position, bundleSequence: stored.bundleSequence, closedAt })
    }
    return settledOf(source, lines, { position, closed: closedAt !== null, refill })
  })
})

const make = Effect.gen(function* () {
  const ledgers = yield* LedgersRepo
  const tranches = yield* Tranches
  const instances = yield* Instances
  const snapshots = yield* Snapshots
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const settle = yield* settling
  const refillFreely = yield* optimisticRefills

  return InstanceTranches.of({
    refill: Effect.fn("InstanceTranches.refill")(function* (instanceSlug, input) {
      const { errors, lines } = parseLines(input.source, input.lines ?? [])
      yield* failWithErrors(errors)
      const free = yield* refillFreely(instanceSlug, input, lines)
      const { response, tranche } =
        free === undefined
          ? yield* transactions.run(settle(instanceSlug, input, lines))
          : settledOf(input.source, lines, { position: free.position, closed: false, refill: free })
      const { etag, token } = yield* snapshots.withTranche(instanceSlug, tranche)
      return { ...response, snapshot: token, etag }
    }),

    list: Effect.fn("InstanceTranches.list")(function* (instanceSlug, request) {
      const { organizationId } = yield* Caller
      const { id } = yield* instances.get(instanceSlug)
      const at = yield* now
      const page = yield* cursors.page(
        { name: `instances/${id}/tranches`, organizationId },
        request,
        (after, count) => tranches.list(id, at, after, count),
        ({ entitlement, holder, periodStart }) => [holder, entitlement, periodStart.toISOString()],
      )
      const holders = [...new Set(page.items.map(({ holder }) => holder))]
      const lines = holders.length === 0 ? new Map() : yield* ledgers.countLines(organizationId, id, holders)
      return { ...page, items: page.items.map((item): Tranche => ({ ...item, lines: lines.get(item.holder) ?? 0 })) }
    }),

    end: Effect.fn("InstanceTranches.end")(function* (instanceSlug, holder) {
      const { organizationId } = yield* Caller
      yield* transactions.run(
        Effect.gen(function* () {
          const { id } = yield* instances.lockShared(instanceSlug)
          // A refill of the holder that is in flight would store what it holds once more.
          yield* ledgers.lock(organizationId, { instanceId: id, source: holder, start: hashOf(holder), at: yield* now })
          const ended = yield* tranches.end(id, holder)
          if (ended === 0) return yield* new TrancheNotFound({ detail: noSuch("tranche of the holder", holder) })
        }),
      )
    }),
  })
})
