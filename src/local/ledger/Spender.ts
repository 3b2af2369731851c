/** Spends from tranches. It sends no request: it returns what it lacks. */
import { answersOf } from "../Answers.ts"
import type { LocalAnswers, Policy } from "../Answers.ts"
import type { View } from "../View.ts"
import type { Claims, LocalUsage, Refill, Spend } from "../../offline/index.ts"
import { answerInOrder } from "../../offline/Answers.ts"
import { atLeastZero } from "../../offline/Terms.ts"
import type { Check } from "../../offline/Terms.ts"
import { cover } from "../../offline/Tranches.ts"
import { decimalOf } from "../../offline/values/Decimal.ts"
import { applyRecord, spentBy } from "./Journal.ts"
import type { Journal, JournalRecord } from "./Journal.ts"
import type { LedgerStore } from "../Ports.ts"
import { addTo, amountAt, newTally, portionsOf, withheldAt } from "./Tally.ts"
import type { Tally } from "./Tally.ts"
import type { Uses } from "./Uses.ts"

/** Nothing can be spent of an entitlement: it is no sum and no count, or the amount is no amount. */
export class NotConsumable extends TypeError {}

/** What a caller wants to spend. */
export interface Wish {
  readonly checks: ReadonlyArray<Check>
  readonly policy: Policy
  readonly key?: string | undefined
  /** Takes the amounts instead of spending them. */
  readonly hold?: ((spends: ReadonlyArray<Spend>, at: number) => void) | undefined
}

/** What a consumption waits for. */
export interface Lack {
  /** All that it needs of limited entitlements: what a tranche pays of it must be kept. */
  readonly needs: ReadonlyArray<Refill>
  /** The part of it that no tranche pays. */
  readonly lacks: ReadonlyArray<Refill>
}

/** An answer, or what a refill must bring. */
export type Attempt = LocalAnswers | Lack

const UNKNOWN: LocalUsage = { source: "", positions: [], spent: {} }

export interface Spender {
  journal: Journal | undefined
  file: LedgerStore | undefined
  readonly reserved: Tally
  readonly local: () => LocalUsage
  /** The claims of the snapshot in force, with the tranche of the ledger. */
  readonly claims: (view: View) => Claims | undefined
  /** Sets what may be spent from the position of the ledger on. */
  readonly setTranche: (tranche: Claims["tranche"]) => void
  /** Replaces the journal, or begins with one. */
  readonly open: (journal: Journal, file: LedgerStore | undefined) => void
  /** Writes records down, and then applies them. */
  readonly write: (records: ReadonlyArray<JournalRecord>) => void
  readonly hold: (entitlement: string, period: string, amount: bigint) => void
  readonly unspent: (entitlement: string, period: string) => bigint
  readonly attempt: (wish: Wish, view: View) => Attempt
  /** Answers where nothing can be refilled: as the vendor says. */
  readonly goOn: (wish: Wish, view: View, lacks: ReadonlyArray<Refill>) => LocalAnswers
}

/** Answers about usage after a consumption. */
const after = (decided: LocalAnswers, figures: LocalAnswers): LocalAnswers => ({
  ...decided,
  checks: figures.checks.map((one, place) => ({
    ...one,
    allowed: true,
    reason: decided.checks[place]?.reason ?? one.reason,
  })),
})

const isSame = (spends: ReadonlyArray<Spend>, spent: ReadonlyArray<readonly [string, string, string]>): boolean =>
  spends.length === spent.length &&
  spends.every(({ amount, entitlement }, place) => spent[place]?.[0] === entitlement && spent[place]?.[1] === amount)

/** The claims with a tranche that also pays what it lacks. */
const paying = (claims: Claims, { local }: Pick<Spender, "local">, lacks: ReadonlyArray<Refill>) => {
  const usage = local()
  const { positions, source, spent } = usage
  const [lines = 0, head = ""] = positions[0] ?? []
  const of = newTally()
  for (const [entitlement, period, amount] of portionsOf({ ...claims.tranche?.of }))
    addTo(entitlement, period, decimalOf(amount) ?? 0n, of)
  for (const { entitlement, need, period } of lacks) {
    const taken = amountAt(spent, entitlement, period) + withheldAt(usage, entitlement, period)
    addTo(entitlement, period, taken + (decimalOf(need) ?? 0n) - amountAt(of, entitlement, period), of)
  }
  return { ...claims, tranche: { source, lines, head, until: Infinity, of } }
}

type Answer = (wish: Wish, view: View, claims: Claims | undefined) => LocalAnswers

type Pay = (spends: ReadonlyArray<Spend>, wish: Wish, at: number) => void

/** What a spender has: its journal, its tranche, and what is reserved of it. */
type Holdings = Omit<Spender, "attempt" | "goOn">

const makeHoldings = (): Holdings => {
  const reserved = newTally()
  let tranche: Claims["tranche"]
  let combined: { readonly of: Claims; readonly tranche: Claims["tranche"]; readonly claims: Claims } | undefined
  let local: LocalUsage = UNKNOWN

  const position = (): void => {
    const { journal } = holdings
    if (journal === undefined) return
    const { base, given, source, spent } = journal
    local = { source, positions: [[base.lines, base.head]], spent, reserved, returned: given }
  }

  const holdings: Holdings = {
    journal: undefined,
    file: undefined,
    reserved,
    local: () => local,
    claims: ({ snapshot }) => {
      if (snapshot === undefined) return undefined
      const { claims: of } = snapshot
      if (combined?.of !== of || combined.tranche !== tranche) {
        const { tranche: _, ...terms } = of
        combined = { of, tranche, claims: tranche === undefined ? terms : { ...terms, tranche } }
      }
      return combined.claims
    },
    setTranche: (next) => {
      tranche = next
    },
    open: (journal, file) => {
      Object.assign(holdings, { journal, file })
      position()
    },
    write: (records) => {
      const { file, journal } = holdings
      if (journal === undefined) return
      file?.append(records, journal)
      for (const record of records) applyRecord(journal, record)
      if (records.some((record) => "settled" in record)) position()
    },
    hold: (entitlement, period, amount) => addTo(entitlement, period, amount, reserved),
    unspent: (entitlement, period) => {
      const taken = amountAt(local.spent, entitlement, period) + withheldAt(local, entitlement, period)
      return atLeastZero(amountAt(tranche?.of, entitlement, period) - taken)
    },
  }
  return holdings
}

/** The answer to a consumption whose key was used before. It is spent already, so nothing is spent now. */
const repeat = (
  known: LocalAnswers,
  spent: ReadonlyArray<readonly [string, string, string]>,
  wanted: ReturnType<typeof cover>,
): LocalAnswers => {
  if (!("spends" in wanted) || !isSame(wanted.spends, spent))
    throw new TypeError("The idempotencyKey was used for another consumption")
  return {
    ...known,
    checks: known.checks.map((one) => (one.allowed ? one : { ...one, allowed: true, reason: "GRANTED" })),
  }
}

const answerBy =
  ({ local }: Holdings): Answer =>
  (wish, view, claims) =>
    answersOf(view, wish.checks, wish.policy, claims, local(), answerInOrder)

/** Spends what a wish needs, or says what it lacks. */
const makeAttempting =
  (holdings: Holdings, answer: Answer, pay: Pay): Spender["attempt"] =>
  (wish, view) => {
    const claims = holdings.claims(view)
    const known = answer(wish, view, claims)
    if (known.source !== "snapshot" || claims === undefined || holdings.journal === undefined) return known
    const { checks, key } = wish
    const coverBy = (terms: Claims) => cover(terms, checks, new Date(view.time), holdings.local())
    const covered = coverBy(claims)
    if ("denied" in covered) {
      if (covered.denied === "INVALID_REQUEST") throw new NotConsumable(`${covered.entitlement} cannot be consumed`)
      return known
    }
    const spent = key === undefined ? undefined : spentBy(holdings.journal, key, view.time)
    if (spent !== undefined) {
      const lacks = "refill" in covered ? covered.refill : []
      return repeat(known, spent, coverBy(paying(claims, holdings, lacks)))
    }
    if ("refill" in covered) {
      const { tranche: _, ...terms } = claims
      const all = coverBy(terms)
      return { lacks: covered.refill, needs: "refill" in all ? all.refill : covered.refill }
    }
    // An amount of 0 asks whether usage is within the limit.
    if (!known.checks.every(({ allowed }) => allowed)) return known
    pay(covered.spends, wish, view.time)
    return covered.spends.length === 0 ? known : after(known, answer(wish, view, claims))
  }

/** Answers what nothing can be refilled for. If the vendor allows that, it spends above the tranches. */
const makeGoingOn =
  (holdings: Holdings, answer: Answer, pay: Pay, want: (lacks: ReadonlyArray<Refill>) => void): Spender["goOn"] =>
  (wish, view, lacks) => {
    const claims = holdings.claims(view)
    const known = answer(wish, view, claims)
    if (known.source !== "snapshot" || claims === undefined) return known
    const goesOn = claims.away?.then === "ALLOW"
    const names = lacks.map(({ entitlement }) => entitlement)
    const checks = known.checks.map((one) =>
      names.includes(one.entitlement) ? { ...one, allowed: goesOn, reason: "SERVICE_AWAY" } : one,
    )
    if (goesOn) {
      const covered = cover(paying(claims, holdings, lacks), wish.checks, new Date(view.time), holdings.local())
      if ("spends" in covered) pay(covered.spends, wish, view.time)
    } else want(lacks)
    return { ...known, checks, source: "policy" }
  }

/** Makes a spender. It can spend once it has a journal. */
export const makeSpender = (uses: Uses, now: () => number): Spender => {
  const holdings = makeHoldings()

  const answer = answerBy(holdings)

  const pay: Pay = (spends, { hold, key }, at) => {
    const time = now()
    for (const { amount, entitlement } of spends) uses.add(entitlement, decimalOf(amount) ?? 0n, time)
    if (hold !== undefined) hold(spends, at)
    else if (spends.length > 0 || key !== undefined) {
      holdings.write([
        {
          spend: spends.map(({ amount, entitlement, period }) => [entitlement, amount, period]),
          at: Math.floor(at),
          ...(key === undefined ? {} : { key }),
        },
      ])
    }
  }

  // The service is tried again soon for what is wanted.
  const want = (lacks: ReadonlyArray<Refill>): void => {
    for (const { entitlement, need } of lacks) uses.add(entitlement, decimalOf(need) ?? 0n, now())
  }

  // The same object, because its journal is replaced.
  return Object.assign(holdings, {
    attempt: makeAttempting(holdings, answer, pay),
    goOn: makeGoingOn(holdings, answer, pay, want),
  })
}
