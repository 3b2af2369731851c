/** Meters and accounts as they were seen without a lock. Pure. */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { inTurns } from "../../../kernel/concurrency/GroupCommit.ts"
import { mayHaveCommitted } from "../../../kernel/database/Statements.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { newlyCrossed } from "../rules/Limits.ts"
import { accountName, accountOf, isChanged, meterName, periodFor } from "./Account.ts"
import type { Account, Accounts } from "./Account.ts"
import type { Meter } from "./Model.ts"
import { OptimisticRepo } from "./OptimisticRepo.ts"
import type { MeterName, MeterSnapshot } from "./OptimisticRepo.ts"

/** The meters by {@link meterName}, and the accounts of those that were used in the period of the instant. */
export const accountsOfSnapshot = (seen: ReadonlyArray<MeterSnapshot>, at: Date) => {
  const meters = new Map<string, Meter>()
  const accounts = new Map<string, Account>()
  for (const { meter: found, total } of seen) {
    const name = meterName(found)
    const meter = meters.get(name) ?? found
    meters.set(name, meter)
    const period = periodFor(meter, at)
    if (total?.periodStart.getTime() === period.start.getTime()) {
      accounts.set(accountName({ meter, at }), accountOf(meter, period, total))
    }
  }
  return { meters, accounts }
}

/** A request that uses meters, and what is decided on it. Pure. */
export interface Posting<A> {
  readonly organizationId: string
  readonly names: ReadonlyArray<MeterName>
  /**
   * The answer, and the accounts after it, on meters that all exist and those of their accounts that have been used in the
   * period; nothing if that does not suffice to decide.
   */
  readonly decide: (
    meters: ReadonlyArray<Meter>,
    accounts: Accounts,
    at: Date,
  ) => { readonly answer: A; readonly accounts: Accounts } | undefined
}

/** What became of a posting: it was counted, or lost to somebody else's; or it is not simple, and has to be decided under locks. */
type Outcome = { readonly answer: unknown } | "lost" | "not simple"

// Where two nodes count on one, one of them wins each race, so that a loser soon wins too. A try is two statements, for all who
// wait by then. A decision under locks is five, and nobody else counts until the last of them: so it is for who never wins.
const MOST_TRIES = 8

/** What became of each posting; dead where nobody knows. */
type Counted = ReadonlyMap<Posting<unknown>, Exit.Exit<Outcome>>

const nobody: ReadonlySet<string> = new Set()

type ByOrganization = ReadonlyMap<string, ReadonlyArray<Posting<unknown>>>

const byOrganization = (postings: ReadonlyArray<Posting<unknown>>): ByOrganization =>
  Map.groupBy(postings, ({ organizationId }) => organizationId)

const crosses = ({ crossings, stored }: Account): boolean => newlyCrossed(stored.crossings, crossings).length > 0

/** Decides postings of one organization in order, each on what those before it leave. */
const decideOf = (postings: ReadonlyArray<Posting<unknown>>, seen: ReadonlyArray<MeterSnapshot>, at: Date) => {
  const { accounts, meters } = accountsOfSnapshot(seen, at)
  const outcomeOf = ({ decide, names: asked }: Posting<unknown>): Outcome => {
    const found = asked.flatMap((name) => meters.get(meterName(name)) ?? [])
    if (found.length < asked.length) return "not simple"
    const own = new Map(
      found.flatMap((meter) => {
        const name = accountName({ meter, at })
        const account = accounts.get(name)
        return account === undefined ? [] : [[name, account] as const]
      }),
    )
    const decision = decide(found, own, at)
    if (decision === undefined || [...decision.accounts.values()].some(crosses)) return "not simple"
    for (const [name, account] of decision.accounts) accounts.set(name, account)
    return { answer: decision.answer }
  }
  const decided = postings.map((posting) => ({ posting, outcome: outcomeOf(posting) }))
  return { decided, changed: [...accounts.values()].filter(isChanged) }
}

const make = Effect.gen(function* () {
  const optimisticRepo = yield* OptimisticRepo

  /** Reads what postings use, and decides them, each organization's by themselves. */
  const decideAll = Effect.fnUntraced(function* (organizations: ByOrganization) {
    const at = yield* now
    const named = new Map(
      [...organizations.values()]
        .flat()
        .flatMap(({ names, organizationId }) =>
          names.map((name) => [organizationId + meterName(name), { organizationId, ...name }] as const),
        ),
    )
    const seen = Map.groupBy(yield* optimisticRepo.read([...named.values()], at), ({ meter }) => meter.organizationId)
    const shares = Array.from(organizations, ([organizationId, own]) => ({
      organizationId,
      ...decideOf(own, seen.get(organizationId) ?? [], at),
    }))
    return { at, shares }
  })

  /**
   * Counts postings, whosever they are, by one statement that reads and one that stores. If the database went away while it
   * stored, nobody knows whether it did: none of them may be counted again.
   */
  const count = Effect.fnUntraced(function* (organizations: ByOrganization) {
    const { at, shares } = yield* decideAll(organizations)
    const changed = shares.flatMap((share) => share.changed)
    const stored = yield* Effect.exit(changed.length === 0 ? Effect.succeed(nobody) : optimisticRepo.store(changed, at))
    if (Exit.isFailure(stored) && !mayHaveCommitted(stored.cause)) return yield* Effect.failCause(stored.cause)
    return new Map(
      shares.flatMap(({ changed: own, decided, organizationId }) =>
        decided.map(({ outcome, posting }) => {
          const rests = own.length > 0 && outcome !== "not simple"
          const whether = Exit.map(stored, (ids) => (ids.has(organizationId) ? outcome : "lost"))
          return [posting, rests ? whether : Exit.succeed(outcome)] as const
        }),
      ),
    )
  })

  // If a statement about several organizations dies, each is counted by itself, so that nobody's usage dies of another's.
  const countAll: (organizations: ByOrganization) => Effect.Effect<Counted> = Effect.fnUntraced(
    function* (organizations) {
      const isOne = organizations.size === 1
      if (isOne || !optimisticRepo.isSharded) {
        const counted = yield* Effect.exit(count(organizations))
        if (Exit.isSuccess(counted)) return counted.value
        // Each of its postings is left to a decision under locks.
        if (isOne) return new Map()
      }
      const apart = yield* Effect.forEach(organizations, (one) => countAll(new Map([one])), {
        concurrency: "unbounded",
      })
      return new Map(apart.flatMap((counted) => [...counted]))
    },
  )

  // All organizations take turns together, so that more wait for each.
  const queued = inTurns((postings: ReadonlyArray<Posting<unknown>>) =>
    Effect.map(countAll(byOrganization(postings)), (counted) =>
      postings.map((posting) => counted.get(posting) ?? Exit.succeed<Outcome>("not simple")),
    ),
  )

  return {
    /** Counts what is simple, and answers it; nothing, with nothing counted, for what has to be decided under locks. */
    post: Effect.fnUntraced(function* <A>(posting: Posting<A>) {
      // Under an idempotency key, all belongs to the key's transaction.
      if (Option.isSome(yield* Effect.serviceOption(Transaction))) return Option.none<A>()
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const outcome = yield* queued("all", posting)
        if (outcome === "not simple") break
        if (outcome !== "lost") return Option.some(outcome.answer as A)
      }
      return Option.none<A>()
    }),
  }
})

/** Counts usage without locks where that is enough. */
export class OptimisticLedger extends Context.Service<OptimisticLedger, Effect.Success<typeof make>>()(
  "keyshelf/usage/ledger/OptimisticLedger",
) {
  static readonly layer = Layer.effect(OptimisticLedger, make)
}
