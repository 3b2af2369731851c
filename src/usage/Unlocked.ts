/**
 * Usage that is counted without a lock. Nearly every consume and report finds its meters and totals as they are, passes no
 * threshold, and is alone with its counter: such requests of an organization are read by one statement and stored by another,
 * which stores nothing if anything has changed in between. Whatever is not that simple is decided under the locks of its
 * totals (`Metering`).
 */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { now } from "../kernel/Timestamp.ts"
import { Transaction } from "../kernel/Transaction.ts"
import { accountName, isChanged, meterName } from "./Account.ts"
import type { Account, Accounts } from "./Account.ts"
import { newlyCrossed } from "./Limits.ts"
import type { Meter } from "./Model.ts"
import { accountsSeen } from "./Seen.ts"
import type { MeterName } from "./Seen.ts"
import { SnapshotRepo } from "./SnapshotRepo.ts"
import { inTurns } from "./Together.ts"

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

const crosses = ({ crossings, stored }: Account): boolean => newlyCrossed(stored.crossings, crossings).length > 0

const make = Effect.gen(function* () {
  const snapshots = yield* SnapshotRepo

  const serveOrganization = Effect.fnUntraced(function* (
    organizationId: string,
    postings: ReadonlyArray<Posting<unknown>>,
  ) {
    const at = yield* now
    const names = new Map(postings.flatMap((posting) => posting.names.map((name) => [meterName(name), name] as const)))
    const { accounts, meters } = accountsSeen(yield* snapshots.read(organizationId, [...names.values()], at), at)
    const decided = postings.map(({ decide, names: asked }): Outcome => {
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
    })
    const changed = [...accounts.values()].filter(isChanged)
    const isStored = changed.length === 0 || (yield* snapshots.store(changed, at))
    const outcomes = isStored ? decided : decided.map((outcome) => (outcome === "not simple" ? outcome : "lost"))
    return new Map(postings.map((posting, index) => [posting, outcomes[index]] as const))
  })

  // All organizations take turns together, so that more wait for each; every statement is about one of them.
  const serve = Effect.fnUntraced(function* (postings: ReadonlyArray<Posting<unknown>>) {
    const byOrganization = Map.groupBy(postings, ({ organizationId }) => organizationId)
    const served = yield* Effect.forEach(byOrganization, ([id, own]) => Effect.exit(serveOrganization(id, own)), {
      concurrency: "unbounded",
    })
    const outcomes = new Map(served.flatMap((exit) => (Exit.isSuccess(exit) ? [...exit.value] : [])))
    return postings.map((posting) => Exit.succeed(outcomes.get(posting) ?? "not simple"))
  })

  const queued = inTurns(serve)

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
export class Unlocked extends Context.Service<Unlocked, Effect.Success<typeof make>>()("keyshelf/usage/Unlocked") {
  static readonly layer = Layer.effect(Unlocked, make)
}
