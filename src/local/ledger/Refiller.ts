/**
 * Sends what was spent, and keeps tranches filled: one request at a time. What is given back is written down before the request, what
 * came is stored with the record that drops settled lines. A request whose response is lost is sent again with the same lines.
 */
import { politeDelay, retryDelay } from "../Backoff.ts"
import type { Received } from "../Holder.ts"
import type { Failure, LedgerOptions, LocalOptions, RefillReply, Reply } from "../Ports.ts"
import type { View } from "../View.ts"
import { decimalOf } from "../../offline/values/Decimal.ts"
import { own } from "../../offline/values/Unknown.ts"
import type { Claims } from "../../offline/index.ts"
import { newJournal, renewed, trancheAt } from "./Journal.ts"
import type { Queue } from "./Queue.ts"
import { linesOf, planRefill } from "./Requests.ts"
import type { Basis, Demand } from "./Requests.ts"
import type { Spender } from "./Spender.ts"
import { portionsOf } from "./Tally.ts"
import { makeUses } from "./Uses.ts"
import type { Uses } from "./Uses.ts"

const MAX_LINES = 1_000
const FIRST_RETRY_MS = 1_000

/** What a ledger needs of the client that it is part of. */
export interface Client {
  readonly instance: string
  readonly options: LocalOptions
  readonly ledger: LedgerOptions
  readonly view: () => View
  readonly receive: (reply: Reply, sentAt: number, taken: (claims: Claims) => void) => Promise<Received>
  /** When the service last responded to anything, by the monotonic clock. */
  readonly confirmedAt: () => number
  readonly maxAgeMs: () => number
}

export const newSource = ({ ledger }: Client): string => `urn:keyshelf:ledger:${ledger.id()}`

/** What came of a request. */
type Refilled = Failure | { readonly type: "refilled" } | { readonly type: "renewed" } | { readonly type: "nothing" }

export interface Refiller {
  /** Sends a request, unless there is nothing to send. The last one gives back all. Never rejects. */
  readonly refill: (isLast: boolean) => Promise<Refilled>
  /** Whether the service responded to the last request, or to another one after it. */
  readonly isReachable: () => boolean
  /** When the next request may be sent, by the monotonic clock. */
  readonly retryAt: () => number
  /** A call could not be served: the service is tried soon. */
  readonly hurry: () => void
  readonly failure: () => Failure | undefined
  /** Whether a refill of a wanted entitlement brought little: asking again at once would bring the same. */
  readonly isShort: (entitlement: string) => boolean
}

interface Parts {
  readonly client: Client
  readonly spender: Spender
  readonly queue: Queue
  readonly uses: Uses
  readonly shortUntil: Map<string, number>
}

const SHORT_MS = 5_000

const NO_DEMANDS: ReadonlyMap<string, Demand> = new Map()

const failed = (text: string): Failure => ({ type: "away", code: "", error: new Error(text) })

/** A new ledger takes what is not settled. */
const renew = async ({ client, spender }: Parts): Promise<void> => {
  // Nothing is spent of a ledger that ends.
  spender.setTranche(undefined)
  const fresh = await newJournal(newSource(client))
  const { file, journal } = spender
  if (journal === undefined) return
  const next = renewed(journal, fresh)
  spender.open(next, file)
  await file?.replace(next, client.view().time)
}

/** The ledger was continued elsewhere, or ended. */
const fork = async (parts: Parts, code: string): Promise<Refilled> => {
  const { instance, options } = parts.client
  options.onEvent?.({ type: "rejected", instance, code })
  await renew(parts)
  return { type: "renewed" }
}

const listIn = (body: unknown, name: string): ReadonlyArray<unknown> => {
  const list = own(body, name)
  return Array.isArray(list) ? list : []
}

/** Reports what came, without amounts. */
const notify = ({ client: { instance, options } }: Parts, body: unknown, lines: number): void => {
  const { onEvent } = options
  const entries = listIn(body, "tranches")
  const isSatisfied = entries.every((entry) => own(entry, "satisfied") === true)
  if (entries.length > 0) onEvent?.({ type: "refill", instance, satisfied: isSatisfied })
  if (lines > 0) onEvent?.({ type: "settled", instance, lines })
  for (const result of listIn(body, "results")) {
    if (own(result, "status") === "rejected")
      onEvent?.({ type: "rejected", instance, code: String(own(result, "code")) })
  }
}

/**
 * Takes a response. The lines are settled when its snapshot begins to answer, so that no answer counts them twice. The record of that has
 * the snapshot, so that a crash between both files loses nothing.
 */
const take = async (
  parts: Parts,
  { body, dateMs }: Extract<RefillReply, { type: "refilled" }>,
  sent: number,
  sentAt: number,
): Promise<Refilled> => {
  const { client, spender } = parts
  const { journal } = spender
  if (journal === undefined) return failed("no ledger")
  const [token, etag] = [own(body, "snapshot"), own(body, "etag")].map((text) =>
    typeof text === "string" ? text : null,
  )
  const end = journal.lines[sent - 1] ?? journal.base
  const reply: Reply = { type: "snapshot", token: token ?? "", etag: etag ?? null, maxAgeMs: client.maxAgeMs(), dateMs }
  const { lines, head } = end
  const outcome = await client.receive(reply, sentAt, (claims) => {
    const tranche = trancheAt(claims.tranche, journal.source, end)
    if (tranche === undefined) return
    spender.setTranche(tranche)
    spender.write([{ settled: lines, head, token: token ?? "" }])
  })
  if (outcome.type === "revoked") return failed("REVOKED")
  if (outcome.type !== "confirmed") return outcome
  const tranche: Claims["tranche"] = outcome.claims?.tranche
  if (tranche?.source !== journal.source) return failed("The snapshot has no tranche of the ledger")
  // A copy of the ledger went on, and nothing was sent that shows it.
  if (trancheAt(tranche, journal.source, end) === undefined) return fork(parts, "RefillTranches.LedgerForked")
  notify(parts, body, sent)
  if (own(body, "closed") === true) await renew(parts)
  else if (spender.file?.isLarge() === true) await spender.file.replace(journal, client.view().time)
  return { type: "refilled" }
}

/** What the service did not grant of what the first call needs. */
const denialsIn = (body: unknown, demands: ReadonlyMap<string, Demand>) =>
  new Map(
    listIn(body, "tranches").flatMap((entry) => {
      const { need = 0n } = demands.get(String(own(entry, "entitlement"))) ?? {}
      const isDenied = own(entry, "satisfied") === false && need > 0n
      return isDenied
        ? [[String(own(entry, "entitlement")), { need, reason: String(own(entry, "reason")) }] as const]
        : []
    }),
  )

const noteShort = (
  { client, shortUntil }: Parts,
  body: unknown,
  entries: ReturnType<typeof planRefill>["entries"],
): void => {
  const now = client.options.clock.monotonic()
  for (const [place, { entitlement, want }] of entries.entries()) {
    const unspent = decimalOf(own(listIn(body, "tranches")[place], "unspent")) ?? 0n
    if (unspent + unspent < (decimalOf(want) ?? 0n)) shortUntil.set(entitlement, now + SHORT_MS)
  }
}

const send = async (parts: Parts, isLast: boolean): Promise<Refilled> => {
  const { client, queue, spender } = parts
  const { instance, options } = client
  const { clock } = options
  const before = client.view()
  const terms = spender.claims(before)
  if (spender.journal === undefined || terms === undefined) return { type: "nothing" }
  // A retry sends the same lines: what the service may have counted is not mixed with what it has not.
  if (spender.journal.lines.length === 0)
    spender.write(await linesOf({ claims: terms, journal: spender.journal, time: before.time }))
  const view = client.view()
  const { journal } = spender
  const claims = spender.claims(view)
  if (claims === undefined) return { type: "nothing" }
  const now = clock.monotonic()
  const demands = isLast ? NO_DEMANDS : queue.demands()
  const present = queue.present()
  const uses = isLast ? makeUses(now) : parts.uses
  const basis: Basis = {
    claims,
    local: spender.local(),
    journal,
    reserved: spender.reserved,
    uses,
    demands,
    time: view.time,
    now,
  }
  const { entries, given } = planRefill(basis)
  const lines = journal.lines.slice(0, MAX_LINES)
  const close = isLast && portionsOf(journal.open).length === 0 && lines.length === journal.lines.length
  if (lines.length === 0 && entries.length === 0 && !close) return { type: "nothing" }
  if (given.length > 0) spender.write([{ given }])
  await spender.file?.sync()
  const sentAt = clock.monotonic()
  const ask = (tranches: typeof entries) => {
    const request = { source: journal.source, lines: lines.map(({ text }) => text), close, tranches }
    return client.ledger.refill(instance, JSON.stringify(request))
  }
  const first = await ask(entries)
  // A closed ledger still says which lines it has counted: those must not count again in the next one.
  const isClosed = first.type === "problem" && first.code === "RefillTranches.LedgerClosed"
  const reply = isClosed && lines.length > 0 && entries.length > 0 ? await ask([]) : first
  if (reply.type === "refilled") {
    const result = await take(parts, reply, lines.length, sentAt)
    if (result.type === "refilled") {
      noteShort(parts, reply.body, entries)
      queue.serve(present, denialsIn(reply.body, demands))
    }
    return result
  }
  if (reply.type !== "problem" || !reply.code.startsWith("RefillTranches.Ledger")) return reply
  return fork(parts, reply.code)
}

/** Makes the refiller of a ledger. */
export const makeRefiller = (client: Client, spender: Spender, queue: Queue, uses: Uses): Refiller => {
  const { clock, onEvent } = client.options
  const parts: Parts = { client, spender, queue, uses, shortUntil: new Map() }
  let failure: Failure | undefined
  let failedAt = -Infinity
  let failures = 0
  let retryAt = -Infinity

  const note = (result: Refilled): void => {
    if (result.type !== "away" && result.type !== "problem") {
      if (result.type === "refilled") [failure, failures, retryAt] = [undefined, 0, -Infinity]
      return
    }
    const now = clock.monotonic()
    retryAt = now + politeDelay(retryDelay(++failures, FIRST_RETRY_MS, clock.random()), result.retryAfterMs)
    // A problem is of the request: the next call asks again, and fails with it.
    if (result.type === "away") [failure, failedAt] = [result, now]
    onEvent?.({ type: "error", instance: client.instance, error: result.error })
  }
  const isReachable = () => failure === undefined || client.confirmedAt() > failedAt

  return {
    refill: async (isLast) => {
      const result = await send(parts, isLast).catch((error: unknown): Refilled => ({ type: "away", code: "", error }))
      note(result)
      return result
    },
    isReachable,
    retryAt: () => (failure !== undefined && isReachable() ? -Infinity : retryAt),
    hurry: () => {
      retryAt = Math.min(retryAt, failedAt + politeDelay(FIRST_RETRY_MS, failure?.retryAfterMs))
    },
    failure: () => failure,
    isShort: (entitlement) => clock.monotonic() < (parts.shortUntil.get(entitlement) ?? -Infinity),
  }
}
