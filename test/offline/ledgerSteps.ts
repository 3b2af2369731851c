/** Plays the cases of kind `ledger`: a client that spends and settles, and a service, step by step. */
import { newJournal, trancheAt } from "../../src/local/ledger/Journal.ts"
import type { Queue } from "../../src/local/ledger/Queue.ts"
import { makeRefiller } from "../../src/local/ledger/Refiller.ts"
import type { Client } from "../../src/local/ledger/Refiller.ts"
import { makeReserving } from "../../src/local/ledger/Reserving.ts"
import type { LocalReservation } from "../../src/local/ledger/Reserving.ts"
import { makeSpender } from "../../src/local/ledger/Spender.ts"
import { ledgerStoreOf } from "../../src/local/ledger/Stored.ts"
import { portionsOf } from "../../src/local/ledger/Tally.ts"
import { makeUses } from "../../src/local/ledger/Uses.ts"
import type { Clock, LocalOptions, View } from "../../src/local/index.ts"
import { decimalOf, textOf } from "../../src/offline/values/Decimal.ts"
import type { Claims, Spend } from "../../src/offline/index.ts"
import { makeService, SLUG } from "./ledgerModel.ts"
import type { Asked } from "./ledgerModel.ts"

/** A step of a case. Times are in seconds, amounts are texts. */
interface Step {
  readonly do: string
  readonly at: number
  readonly amount?: string
  readonly id?: string
  readonly keep?: string
  readonly loses?: "ledger"
  readonly need?: string
  readonly response?: "arrives" | "lost"
  readonly stored?: boolean
  readonly want?: string
}

export interface LedgerSteps {
  readonly limit: string
  readonly steps: ReadonlyArray<Step>
}

const STEPS = ["refill", "resend", "consume", "reserve", "commit", "crash", "copy-settles", "others"]

/** The first step of a case that nothing is known of. */
export const unknownStepIn = ({ steps }: LedgerSteps): string | undefined =>
  steps.map((step) => step.do).find((name) => !STEPS.includes(name))

const INSTANCE = "globex-prod"
const RESERVED_MS = 60_000

const amountOf = (text: string | undefined): bigint => decimalOf(text) ?? 0n

/** A file in memory. What a crash leaves of it is its text. */
const makeFile = (stored: string) => {
  let text = stored
  return {
    text,
    size: () => text.length,
    append: (added: string) => void (text += added),
    sync: async () => undefined,
    replace: async (next: string) => void (text = next),
    setAside: async () => undefined,
    close: async () => undefined,
    left: () => text,
  }
}

/** What happens to the next request, and what its figures are. */
interface Fate {
  readonly isLost: boolean
  readonly isStored: boolean
  readonly demand: { readonly need: bigint; readonly want: bigint }
}

type Service = ReturnType<typeof makeService>

/** What is left of a process: a file, and the tokens of snapshots that were stored. */
interface Left {
  readonly text: string
  readonly terms: Claims
  readonly nextId: () => string
  readonly claimsOf: (token: string) => Claims | undefined
  readonly store: (claims: Claims) => string
}

/** A process of the client. It has the ledger of a product, without its timers. */
const startProcess = async (left: Left, service: Service, now: () => number) => {
  const { claimsOf, nextId, store, terms } = left
  const file = makeFile(left.text)
  const millis = () => now() * 1000
  const clock: Clock = { wall: millis, monotonic: millis, random: () => 0, after: () => () => undefined }
  const spender = makeSpender(makeUses(millis()), millis)
  const view = (): View => ({
    state: "LIVE",
    ageMs: 0,
    time: millis(),
    snapshot: { token: "", etag: null, claims: terms },
    failure: undefined,
  })
  const rejected: Array<string> = []
  let fate: Fate = { isLost: false, isStored: true, demand: { need: 0n, want: 0n } }
  let satisfied: boolean | undefined

  const options = {
    clock,
    service: undefined as never,
    startTimeoutMs: 0,
    onEvent: (event) => {
      if (event.type === "rejected") rejected.push(event.code.replace("RefillTranches.", ""))
    },
  } satisfies LocalOptions
  const client: Client = {
    instance: INSTANCE,
    options,
    ledger: {
      id: nextId,
      refill: async (_, body) => {
        const result = await service.refill(JSON.parse(body) as Asked)
        if (fate.isLost) return { type: "away", code: "", error: new Error("The response was lost") }
        if (typeof result === "string") return { type: "problem", code: result, error: new Error(result) }
        satisfied = result.satisfied
        return { type: "refilled", body: { snapshot: store(result.claims), etag: null } }
      },
    },
    view,
    receive: async (reply, _, taken) => {
      // The process ends before it stores the snapshot.
      if (!fate.isStored) throw new Error("killed")
      const claims = claimsOf(reply.type === "snapshot" ? reply.token : "")
      if (claims === undefined) return { type: "confirmed" }
      taken(claims)
      return { type: "confirmed", claims }
    },
    confirmedAt: () => -Infinity,
    maxAgeMs: () => 30_000,
  }
  const queue: Queue = {
    size: () => 0,
    enter: () => Promise.reject(new Error("Nothing waits")),
    demands: () => new Map(fate.demand.need + fate.demand.want > 0n ? [[SLUG, fate.demand]] : []),
    present: () => new Set(),
    serve: () => undefined,
    end: () => undefined,
  }
  const stored = await ledgerStoreOf(file)
  const journal = stored.journal ?? (await newJournal(`urn:keyshelf:ledger:${nextId()}`))
  const tranche = claimsOf(journal.token ?? "")?.tranche
  const { base, source } = journal
  spender.setTranche(trancheAt(tranche, source, base))
  spender.open(journal, stored)
  const refiller = makeRefiller(client, spender, queue, makeUses(millis()))
  const reserving = makeReserving(clock, spender, () => undefined)

  const spend = (amount: string | undefined, hold?: (spends: ReadonlyArray<Spend>) => void) => {
    const checks = [{ entitlement: SLUG, requested: amount ?? "1" }]
    const answers = spender.attempt({ checks, policy: "closed", hold }, view())
    return !("lacks" in answers) && answers.checks.every(({ allowed }) => allowed) ? answers : undefined
  }

  return {
    spend,
    source: () => spender.journal?.source ?? "",
    reserve: (amount: string | undefined) => {
      let spends: ReadonlyArray<Spend> = []
      const answers = spend(amount, (taken) => {
        spends = taken
        for (const one of taken) spender.hold(one.entitlement, one.period, amountOf(one.amount))
      })
      return answers === undefined ? undefined : reserving.make(answers, spends, RESERVED_MS, millis())
    },
    isWaiting: () => (spender.journal?.lines.length ?? 0) > 0,
    /** The figures of a step include what is spent, and in no line yet. */
    refill: async (next: Omit<Fate, "demand">, { need, want }: Pick<Step, "need" | "want">) => {
      const isFirst = spender.journal?.lines.length === 0
      const open = isFirst
        ? 0n
        : portionsOf(spender.journal?.open ?? {}).reduce((sum, one) => sum + amountOf(one[2]), 0n)
      const more = (text: string | undefined) => (amountOf(text) > open ? amountOf(text) - open : 0n)
      fate = { ...next, demand: { need: more(need), want: more(want) } }
      satisfied = undefined
      await refiller.refill(false)
      return { satisfied, rejected: rejected.splice(0).at(-1) }
    },
    figures: () => {
      const { until = 0 } = spender.claims(view())?.tranche ?? {}
      const total = (portions: ReturnType<typeof portionsOf>) =>
        textOf(portions.reduce((sum, [, , amount]) => sum + amountOf(amount), 0n))
      const open = portionsOf({ ...spender.claims(view())?.tranche?.of })
      const unspent = open.map(([name, period]) => [name, period, textOf(spender.unspent(name, period))] as const)
      return {
        unspent: now() < until ? total(unspent) : "0",
        unsettled: total(portionsOf(spender.journal?.spent ?? {})),
      }
    },
    text: file.left,
  }
}

/** Plays the steps of a case. Returns what is expected of it. */
export const playSteps = async (base: Claims, { limit, steps }: LedgerSteps) => {
  const begin = base.iat
  let at = 0
  const now = () => begin + at
  const entitlement = { slug: SLUG, type: "NUMBER", limit, overagePercent: "0", aggregation: "SUM" } as const
  const period = { used: "0", usedFrom: base.license.start, period: "LIFETIME" } as const
  const terms: Claims = { ...base, entitlements: [{ ...entitlement, ...period }] }
  const tokens: Array<Claims> = []
  let ids = 0
  const left: Omit<Left, "text"> = {
    terms,
    nextId: () => `0198c2b5-0000-7000-8000-${String(++ids).padStart(12, "0")}`,
    claimsOf: (token) => tokens[Number(token) - 1],
    store: (claims) => String(tokens.push(claims)),
  }
  const service = makeService(terms, limit, now)
  const reservations = new Map<string, LocalReservation>()
  let client = await startProcess({ ...left, text: "" }, service, now)
  let last: Step | undefined
  let spentInAll = 0n

  const played = async (step: Step): Promise<Readonly<Record<string, unknown>>> => {
    const { amount, id = "" } = step
    const fate = { isLost: step.response === "lost", isStored: step.stored !== false }
    switch (step.do) {
      case "refill": {
        // Lines without a response are sent again first.
        if (client.isWaiting()) await client.refill({ isLost: false, isStored: true }, {})
        last = step
        return client.refill(fate, step)
      }
      case "resend":
        return client.refill(fate, last ?? {})
      case "consume": {
        const allowed = client.spend(amount) !== undefined
        if (allowed) spentInAll += amountOf(amount)
        return { allowed }
      }
      case "reserve": {
        const reserved = client.reserve(amount)
        if (reserved !== undefined) reservations.set(id, reserved)
        return { allowed: reserved !== undefined }
      }
      case "commit": {
        const committed = reservations.get(id)?.commit(amount ?? "0") === true
        if (committed) spentInAll += amountOf(amount)
        return { committed }
      }
      case "crash": {
        client = await startProcess({ ...left, text: step.loses === "ledger" ? "" : client.text() }, service, now)
        return {}
      }
      case "copy-settles": {
        await service.settleCopy(client.source(), amount ?? "0")
        spentInAll += amountOf(amount)
        return {}
      }
      default:
        return { consumed: service.use(amount ?? "0") }
    }
  }

  const results: Array<unknown> = []
  for (const step of steps) {
    at = step.at
    const result = Object.entries(await played(step)).filter(([, value]) => value !== undefined)
    results.push({
      do: step.do,
      ...Object.fromEntries(result),
      ...client.figures(),
      service: service.figures(),
    })
  }
  return { steps: results, spentInAll: textOf(spentInAll) }
}
