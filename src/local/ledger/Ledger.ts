/** The ledger of a local client: it spends from tranches without a request, and settles in the background. */
import { answersOf } from "../Answers.ts"
import type { LocalAnswers } from "../Answers.ts"
import { answerInOrder } from "../../offline/Answers.ts"
import type { Claims, LocalUsage, Refill, Spend } from "../../offline/index.ts"
import { decimalOf, textOf } from "../../offline/values/Decimal.ts"
import { newJournal, renewed, trancheAt } from "./Journal.ts"
import { makeQueue } from "./Queue.ts"
import type { Signal } from "./Queue.ts"
import { makeRefiller, newSource } from "./Refiller.ts"
import type { Client } from "./Refiller.ts"
import { makeReserving } from "./Reserving.ts"
import type { LocalReservation } from "./Reserving.ts"
import { makeSettler } from "./Settler.ts"
import { makeSpender } from "./Spender.ts"
import type { Spender, Wish } from "./Spender.ts"
import { LedgerEnded } from "./Stored.ts"
import { portionsOf } from "./Tally.ts"
import { makeUses } from "./Uses.ts"

/** How long a call waits for a refill. */
const REFILL_TIMEOUT_MS = 2_000

/** What may be spent without a request. */
export interface HeldTranche {
  readonly entitlement: string
  readonly periodStart: string
  readonly unspent: string
  readonly spendUntil: string
}

/** What is spent, and not settled. */
export interface Unsettled {
  readonly entitlement: string
  readonly periodStart: string
  readonly amount: string
}

interface LedgerStatus {
  readonly tranches: ReadonlyArray<HeldTranche>
  readonly unsettled: ReadonlyArray<Unsettled>
}

export interface Ledger {
  /** What an answer must know of what was spent. */
  readonly local: () => LocalUsage
  readonly claims: () => Claims | undefined
  /** The service responded: what waits for that goes on. Opens the ledger when the instance is known. */
  readonly contact: () => void
  readonly consume: (wish: Wish, signal?: Signal) => LocalAnswers | Promise<LocalAnswers>
  readonly reserve: (wish: Wish, ttlMs: number, signal?: Signal) => Promise<LocalReservation>
  readonly status: () => LedgerStatus
  /** The request in flight. */
  readonly refilling: () => Promise<void> | undefined
  /** Settles, and gives back what is not spent. Takes at most 5 s. */
  readonly close: () => Promise<void>
}

/** What a ledger needs beyond what its requests do. */
export interface Owner extends Client {
  /** The id of the instance, once a snapshot named it. */
  readonly instanceId: () => string | undefined
  /** Verifies what was stored. */
  readonly verify: (token: string) => Promise<Claims | undefined>
  /** Fetches the snapshot now. */
  readonly refetch: () => Promise<unknown>
}

/** The service is away, and no tranche pays. */
class RefillFailed extends Error {
  override readonly name = "RefillFailed"
  readonly isAway = true
}

/** Opens what is stored. */
const openJournal = async (owner: Owner, id: string) => {
  const file = await owner.ledger.open?.(id)
  const stored = file?.journal ?? (await newJournal(newSource(owner)))
  const journal = stored.isDamaged === true ? renewed(stored, await newJournal(newSource(owner))) : stored
  const tranche = journal.token === undefined ? undefined : (await owner.verify(journal.token))?.tranche
  const { base, source } = journal
  return { file, journal, tranche: trancheAt(tranche, source, base) }
}

/** The answers to calls that no refill can serve, or that one did not. */
const makeAnswering = ({ view }: Owner, spender: Spender, failure: () => unknown) => ({
  goOn: (wish: Wish, lacks: ReadonlyArray<Refill>): LocalAnswers => {
    if (wish.policy === "fail") throw failure() ?? new RefillFailed("The service is away")
    return spender.goOn(wish, view(), lacks)
  },
  deny: (wish: Wish, entitlement: string, reason: string): LocalAnswers => {
    const now = view()
    const known = answersOf(now, wish.checks, wish.policy, spender.claims(now), spender.local(), answerInOrder)
    const ofIt = known.checks.filter((one) => one.entitlement === entitlement)
    // Of several checks, those that fit are allowed. What is known may be older than the denial: then none is.
    const fits = ofIt.some(({ allowed }) => !allowed) ? ofIt.filter(({ allowed }) => allowed) : []
    const checks = known.checks.map((one) =>
      one.entitlement === entitlement && !fits.includes(one) ? { ...one, allowed: false, reason } : one,
    )
    return { ...known, checks, source: "service" }
  },
})

const statusOf = ({ view }: Owner, spender: Spender): LedgerStatus => {
  const { tranche } = spender.claims(view()) ?? {}
  const spendUntil = tranche === undefined ? "" : new Date(tranche.until * 1000).toISOString()
  const tranches = portionsOf({ ...tranche?.of }).map(([entitlement, periodStart]) => {
    return { entitlement, periodStart, unspent: textOf(spender.unspent(entitlement, periodStart)), spendUntil }
  })
  const unsettled = portionsOf(spender.journal?.spent ?? {}).map(([entitlement, periodStart, amount]) => {
    return { entitlement, periodStart, amount }
  })
  return { tranches, unsettled }
}

/** Opens the ledger once. A folder that cannot be used fails the calls, each time. */
const makeOpening = (owner: Owner, spender: Spender, isClosed: () => boolean, opened: () => void) => {
  let opening: Promise<void> | undefined
  const openNow = async (id: string): Promise<void> => {
    const { file, journal, tranche } = await openJournal(owner, id)
    // Nothing is spent before: a record after a line that was cut off, or in a file that is not renamed yet, is lost by a crash.
    if (file?.journal !== undefined) await file.replace(journal, owner.view().time)
    if (isClosed()) return file?.close()
    spender.setTranche(tranche)
    spender.open(journal, file)
    opened()
  }
  return {
    open: (): Promise<void> => {
      const id = owner.instanceId()
      if (id === undefined) return Promise.resolve()
      return (opening ??= openNow(id).catch((error: unknown) => {
        // A folder that cannot be used fails the calls, each time.
        opening = undefined
        throw error
      }))
    },
    /** Resolves when none is under way. */
    end: async (): Promise<void> => opening?.catch(() => undefined),
  }
}

/** Makes the ledger of a client. */
export const makeLedger = (owner: Owner): Ledger => {
  const { instance, options, view } = owner
  const { clock, onEvent } = options
  const uses = makeUses(clock.monotonic())
  const spender = makeSpender(uses, clock.monotonic)
  const { deny, goOn } = makeAnswering(owner, spender, () => refiller.failure()?.error)
  const attempt = (wish: Wish) => spender.attempt(wish, view())
  const queue = makeQueue(clock, REFILL_TIMEOUT_MS, { attempt, deny, late: goOn })
  const refiller = makeRefiller(owner, spender, queue, uses)
  const settler = makeSettler({ client: owner, spender, queue, uses, refiller, goOn, refetch: owner.refetch })
  const reserving = makeReserving(clock, spender, settler.spent)
  let isClosed = false
  const opening = makeOpening(owner, spender, () => isClosed, settler.tick)

  const flushes = () => owner.ledger.flushAlways === true && spender.file !== undefined
  const flushed = async (answers: LocalAnswers): Promise<LocalAnswers> => {
    await spender.file?.sync()
    return answers
  }

  const consume = (wish: Wish, signal?: Signal): LocalAnswers | Promise<LocalAnswers> => {
    if (isClosed) throw new LedgerEnded("The client is closed")
    if (spender.journal === undefined && view().snapshot !== undefined) {
      return opening.open().then(() => consume(wish, signal))
    }
    const result = attempt(wish)
    if (!("lacks" in result)) {
      settler.spent()
      return flushes() ? flushed(result) : result
    }
    if (!refiller.isReachable()) {
      const answers = goOn(wish, result.lacks)
      refiller.hurry()
      settler.tick()
      return answers
    }
    const served = queue.enter(wish, result, signal)
    settler.tick()
    return flushes() ? served.then(flushed) : served
  }

  return {
    local: spender.local,
    claims: () => spender.claims(view()),
    contact: () => {
      opening.open().then(settler.tick, (error: unknown) => onEvent?.({ type: "error", instance, error }))
    },
    consume,
    reserve: (wish, ttlMs, signal) => {
      let spends: ReadonlyArray<Spend> = []
      let heldAt = 0
      const hold = (taken: ReadonlyArray<Spend>, at: number) => {
        spends = taken
        heldAt = at
        for (const { amount, entitlement, period } of taken) spender.hold(entitlement, period, decimalOf(amount) ?? 0n)
      }
      return Promise.resolve(consume({ ...wish, hold }, signal)).then((answers) =>
        reserving.make(answers, spends, ttlMs, heldAt),
      )
    },
    status: () => statusOf(owner, spender),
    refilling: settler.running,
    close: async () => {
      if (isClosed) return
      isClosed = true
      queue.end(goOn)
      reserving.end()
      await opening.end()
      await settler.close()
      await spender.file?.close()
    },
  }
}
