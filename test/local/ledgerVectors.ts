/** Plays the cases of `clients/vectors/ledger.json`: a journal in, what may be spent and the next request out. */
import { newJournal, renewed, trancheAt } from "../../src/local/ledger/Journal.ts"
import { makeQueue } from "../../src/local/ledger/Queue.ts"
import { linesOf, planRefill } from "../../src/local/ledger/Requests.ts"
import { makeSpender } from "../../src/local/ledger/Spender.ts"
import { journalIn, textOfJournal } from "../../src/local/ledger/Stored.ts"
import { addTo, newTally, portionsOf } from "../../src/local/ledger/Tally.ts"
import { makeUses } from "../../src/local/ledger/Uses.ts"
import type { View } from "../../src/local/index.ts"
import type { Amounts, Claims, Tranche } from "../../src/offline/index.ts"
import type { Check } from "../../src/offline/Terms.ts"
import { cover } from "../../src/offline/Tranches.ts"
import { decimalOf } from "../../src/offline/values/Decimal.ts"

/** A case of a ledger. */
interface LedgerCase {
  readonly id: string
  readonly why: string
  readonly given: {
    readonly at?: string
    readonly journal: string
    readonly tranche: Tranche | null
    readonly used?: ReadonlyArray<readonly [entitlement: string, amount: string, secondsAgo: number]>
    readonly waiting?: ReadonlyArray<ReadonlyArray<Check>>
    readonly reserved?: Amounts
    readonly renewed?: string
  }
  readonly expected: unknown
}

export interface LedgerVectors {
  readonly clock: string
  readonly source: string
  readonly claims: Claims
  readonly cases: ReadonlyArray<LedgerCase>
}

const amountOf = (text: string): bigint => decimalOf(text) ?? 0n

const NOW = 1_000_000

/** Plays a case. Returns what is expected of it. */
export const playLedger = async ({ claims: terms, clock, source }: LedgerVectors, { given }: LedgerCase) => {
  const time = Date.parse(given.at ?? clock)
  const read = given.journal === "" ? await newJournal(source) : await journalIn(given.journal)
  if (read === undefined) return "INVALID"
  if (read.isDamaged === true) return { isDamaged: true }
  const journal = given.renewed === undefined ? read : renewed(read, await newJournal(given.renewed))
  const { base } = journal
  const uses = makeUses(NOW - 60_000)
  for (const [entitlement, amount, secondsAgo] of given.used ?? [])
    uses.add(entitlement, amountOf(amount), NOW - secondsAgo * 1000)
  const spender = makeSpender(uses, () => NOW)
  const { tranche } = given
  spender.setTranche(trancheAt(tranche ?? undefined, journal.source, base))
  spender.open(journal, undefined)
  for (const [entitlement, period, amount] of portionsOf({ ...given.reserved }))
    spender.hold(entitlement, period, amountOf(amount))
  const snapshot = { token: "", etag: null, claims: terms }
  const view: View = { state: "LIVE", ageMs: 0, time, snapshot, failure: undefined }
  const claims = spender.claims(view) ?? terms
  const queue = makeQueue({ wall: () => 0, monotonic: () => 0, random: () => 0, after: () => () => undefined }, 0, {
    attempt: () => ({ lacks: [], needs: [] }),
    late: () => {
      throw new Error("late")
    },
    deny: () => {
      throw new Error("denied")
    },
  })
  for (const checks of given.waiting ?? []) {
    const covered = cover(claims, checks, new Date(time), spender.local())
    const { tranche: _, ...without } = claims
    const all = cover(without, checks, new Date(time), spender.local())
    if ("refill" in covered && "refill" in all) {
      void queue.enter({ checks, policy: "closed" }, { lacks: covered.refill, needs: all.refill }, undefined)
    }
  }
  const unspent = newTally()
  for (const [entitlement, period] of portionsOf({ ...claims.tranche?.of })) {
    const isOpen = time < (claims.tranche?.until ?? 0) * 1000
    addTo(entitlement, period, isOpen ? spender.unspent(entitlement, period) : 0n, unspent)
  }
  const seen = { position: [base.lines, base.head], spent: portionsOf(journal.spent), unspent: portionsOf(unspent) }
  if (journal.lines.length === 0) spender.write(await linesOf({ claims, journal, time }))
  const demands = queue.demands()
  const { entries, given: returned } = planRefill({
    claims,
    local: spender.local(),
    journal,
    reserved: spender.reserved,
    uses,
    demands,
    time,
    now: NOW,
  })
  if (returned.length > 0) spender.write([{ given: returned }])
  const lines = journal.lines.map(({ text }) => text)
  const request =
    lines.length === 0 && entries.length === 0
      ? null
      : { source: journal.source, lines, close: false, tranches: entries }
  return { isDamaged: false, ...structuredClone(seen), given: returned, request, journal: textOfJournal(journal, time) }
}
