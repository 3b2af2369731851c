/** A slot of leases, played by the ledger of a local client: one instance with one `SUM` entitlement in a period without an end. */
import type { Clock, RefillReply } from "../../../src/local/index.ts"
import type { LocalAnswers } from "../../../src/local/Answers.ts"
import { dueAt } from "../../../src/local/ledger/Due.ts"
import { newJournal } from "../../../src/local/ledger/Journal.ts"
import { makeQueue } from "../../../src/local/ledger/Queue.ts"
import { makeRefiller } from "../../../src/local/ledger/Refiller.ts"
import type { Client } from "../../../src/local/ledger/Refiller.ts"
import { makeReserving } from "../../../src/local/ledger/Reserving.ts"
import { makeSpender } from "../../../src/local/ledger/Spender.ts"
import type { Wish } from "../../../src/local/ledger/Spender.ts"
import { amountAt, portionsOf } from "../../../src/local/ledger/Tally.ts"
import { makeUses } from "../../../src/local/ledger/Uses.ts"
import type { View } from "../../../src/local/index.ts"
import type { Claims, Spend, Tranche } from "../../../src/offline/index.ts"
import { decimalOf, textOf } from "../../../src/offline/values/Decimal.ts"
import { claims as base } from "../../offline/signer.ts"
import type { Lease } from "./vectors.ts"

/** When a vector begins. */
const BEGINNING = Date.parse("2026-01-01T00:00:00.000Z")
/** The start of the only period. */
const SOLD = base.license.start
const CREDITS = "credits"
const SOURCE = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"

const terms: Claims = {
  ...base,
  license: { ...base.license, start: SOLD, termEnd: null, end: null },
  entitlements: [
    {
      slug: CREDITS,
      type: "NUMBER",
      limit: "1000000",
      overagePercent: "0",
      aggregation: "SUM",
      used: "0",
      usedFrom: SOLD,
      period: "LIFETIME",
    },
  ],
  complete: true,
  away: { then: "DENY" },
}

interface Request {
  readonly source: string
  readonly close: boolean
  readonly tranches: ReadonlyArray<{ readonly keep: string; readonly need: string; readonly want: string }>
}

/** What the service answers: a lease, that there is no other one, or nothing. */
export type Answer = Lease | "no more" | "away"

const numberOf = (amount: bigint): number => Number(textOf(amount))

const never = () => new Promise<never>(() => undefined)

/** The service as a script: what it answers next, and what it was asked. */
const makeService = () => {
  const requests: Array<Request & { readonly released: string | undefined }> = []
  const tokens = new Map<string, Tranche>()
  let next: Answer = "away"
  let lease: Lease | undefined
  const reply = (request: Request, position: Pick<Tranche, "lines" | "head">): RefillReply => {
    const answer = next
    next = "no more"
    if (answer === "away") return { type: "away", code: "", error: new Error("wire down") }
    if (answer !== "no more") lease = answer
    const keep = Number(request.tranches[0]?.keep ?? 0)
    const unspent = String(answer === "no more" ? Math.min(keep, lease?.granted_amount ?? 0) : answer.granted_amount)
    const satisfied = Number(request.tranches[0]?.need ?? 0) <= Number(unspent)
    const token = `snapshot-${tokens.size}`
    const until = (BEGINNING + (lease?.expires_at_ms ?? 0)) / 1000
    tokens.set(token, { source: request.source, ...position, until, of: { [CREDITS]: { [SOLD]: unspent } } })
    const tranches = request.tranches.map(() => ({ entitlement: CREDITS, satisfied, unspent, reason: "LIMIT_REACHED" }))
    return { type: "refilled", body: { snapshot: token, etag: "", results: [], tranches, closed: false } }
  }
  return {
    requests,
    reply,
    tokens,
    lease: () => lease,
    script: (answer: Answer) => {
      next = answer
    },
  }
}

/** Makes a slot. */
export const makeSlot = async (clock: Clock, now: () => number) => {
  const service = makeService()
  const uses = makeUses(clock.monotonic())
  const spender = makeSpender(uses, clock.monotonic)
  const snapshot = { token: "", etag: null, claims: terms }
  const view = (): View => ({ state: "LIVE", ageMs: 0, time: BEGINNING + now(), snapshot, failure: undefined })
  const client: Client = {
    instance: terms.instance.slug,
    options: {
      clock,
      service: { snapshot: never, keys: never, changes: () => () => undefined },
      startTimeoutMs: 0,
    },
    ledger: {
      id: () => "",
      refill: async (_, body) => {
        const request = JSON.parse(body) as Request
        const { given, base: settled, lines } = spender.journal ?? (await newJournal(SOURCE))
        // What is given back is written down before the request.
        const released = portionsOf(given).length > 0 ? service.lease()?.lease_id : undefined
        service.requests.push({ ...request, released })
        return service.reply(request, lines.at(-1) ?? settled)
      },
    },
    view,
    receive: async (reply, _, taken) => {
      const tranche = "token" in reply ? service.tokens.get(reply.token) : undefined
      const claims = { ...terms, ...(tranche === undefined ? {} : { tranche }) }
      taken(claims)
      return { type: "confirmed", claims }
    },
    confirmedAt: () => 0,
    maxAgeMs: () => 0,
  }
  spender.open(await newJournal(SOURCE), undefined)
  const goOn = (wish: Wish, lacks: Parameters<typeof spender.goOn>[2]) => spender.goOn(wish, view(), lacks)
  const attempt = (wish: Wish) => spender.attempt(wish, view())
  const deny = (wish: Wish, entitlement: string, reason: string): LocalAnswers => {
    const known = goOn(wish, [])
    const denied = (one: LocalAnswers["checks"][number]) => ({ ...one, entitlement, allowed: false, reason })
    return { ...known, checks: known.checks.map(denied) }
  }
  const queue = makeQueue(clock, Infinity, { attempt, deny, late: goOn })
  const refiller = makeRefiller(client, spender, queue, uses)
  const reserving = makeReserving(clock, spender, () => undefined)

  /** Asks for so much as a call does: the service is asked if no tranche pays, and may not help. */
  const ask = async (credits: number, answer: Answer, hold: NonNullable<Wish["hold"]>): Promise<boolean> => {
    let isTaken = false
    const wish: Wish = {
      checks: [{ entitlement: CREDITS, requested: String(credits) }],
      policy: "closed",
      hold: (spends, at) => {
        isTaken = true
        hold(spends, at)
      },
    }
    const result = attempt(wish)
    if (!("lacks" in result)) return isTaken
    service.script(answer)
    void queue.enter(wish, result, undefined)
    await refiller.refill(false)
    queue.end(goOn)
    return isTaken
  }

  const tranche = () => spender.claims(view())?.tranche
  const isLive = () => view().time < (tranche()?.until ?? 0) * 1000
  const unspent = () => (isLive() ? numberOf(spender.unspent(CREDITS, SOLD)) : 0)

  return {
    requests: service.requests,
    /** The response to a refill for a call that needs as much, if no live tranche pays it. */
    acquire: (credits: number, answer: Answer) => ask(credits, answer, () => undefined),
    reserve: async (credits: number, forMs: number) => {
      const spends: Array<Spend> = []
      const isTaken = await ask(credits, "no more", (taken) => {
        spends.push(...taken)
        for (const { amount, period } of taken) spender.hold(CREDITS, period, decimalOf(amount) ?? 0n)
      })
      return isTaken
        ? reserving.make(goOn({ checks: [], policy: "closed" }, []), spends, forMs, view().time)
        : undefined
    },
    /** Refills as the background does, if that is due. */
    extend: async (answer: Answer) => {
      const claims = spender.claims(view())
      const { journal } = spender
      if (claims === undefined || journal === undefined) return
      const at = { time: view().time, now: clock.monotonic() }
      const basis = { claims, local: spender.local(), journal, reserved: spender.reserved, uses, ...at }
      const moments = { requestedAt: -Infinity, unsettledSince: Infinity, isShort: refiller.isShort }
      if (dueAt({ ...basis, demands: queue.demands() }, moments) > at.now) return
      service.script(answer)
      await refiller.refill(false)
    },
    /** The last request, which gives back all. */
    close: async () => {
      service.script("no more")
      await refiller.refill(true)
    },
    leaseId: () => (isLive() ? (service.lease()?.lease_id ?? null) : null),
    expiresAt: () => service.lease()?.expires_at_ms ?? 0,
    /** What is seen of the lease. */
    lease: () => {
      const granted = numberOf(amountAt(tranche()?.of, CREDITS, SOLD))
      return {
        exists: granted > 0 && isLive(),
        lease_id: service.lease()?.lease_id,
        granted_amount: granted,
        local_remaining_credits: unspent(),
      }
    },
    unspent,
    reserved: () => numberOf(amountAt(spender.reserved, CREDITS, SOLD)),
    /** What was spent, and is in no line yet. */
    spent: () => numberOf(amountAt(spender.journal?.open, CREDITS, SOLD)),
  }
}
