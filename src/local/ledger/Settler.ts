/** Refills when it is due: while calls wait, at once; otherwise in the background. */
import type { LocalAnswers } from "../Answers.ts"
import { ACCESS_ENDS } from "../Rejections.ts"
import type { Refill } from "../../offline/index.ts"
import { millisOf } from "../../offline/values/Unknown.ts"
import { dueAt } from "./Due.ts"
import type { Queue } from "./Queue.ts"
import type { Client, Refiller } from "./Refiller.ts"
import { BOUNDARY_MS, figuresOf } from "./Requests.ts"
import type { Basis } from "./Requests.ts"
import type { Spender, Wish } from "./Spender.ts"
import { portionsOf } from "./Tally.ts"
import type { Uses } from "./Uses.ts"

/** No timer is longer: a machine may sleep. */
const MAX_TIMER_MS = 3_600_000
/** After a refill that could not help. */
const PAUSE_MS = 500
/** How often a product that consumes all the time looks whether little is left. */
const LOOK_MS = 20
const MAX_CLOSE_MS = 5_000

interface Settler {
  /** Begins what is due, and plans what is due later. */
  readonly tick: () => void
  /** The request in flight. */
  readonly running: () => Promise<void> | undefined
  /** After something was spent. */
  readonly spent: () => void
  /** Ends the timer, and settles all; takes at most 5 s. */
  readonly close: () => Promise<void>
}

interface Parts {
  readonly client: Client
  readonly spender: Spender
  readonly queue: Queue
  readonly uses: Uses
  readonly refiller: Refiller
  /** Answers a call that cannot be served. */
  readonly goOn: (wish: Wish, lacks: ReadonlyArray<Refill>) => LocalAnswers
  readonly refetch: () => Promise<unknown>
}

const basisOf = ({ client, queue, spender, uses }: Parts): Basis | undefined => {
  const view = client.view()
  const claims = spender.claims(view)
  const { journal, reserved } = spender
  if (claims === undefined || journal === undefined) return undefined
  const [demands, now] = [queue.demands(), client.options.clock.monotonic()]
  return { claims, local: spender.local(), journal, reserved, uses, demands, time: view.time, now }
}

/** Whether a request was rejected because a period ends: at the service it has ended, and here it ends, or just has. */
const isAtBoundary = (parts: Parts): boolean => {
  const basis = basisOf(parts)
  if (basis === undefined) return false
  return [...basis.demands.keys()].some((name) => {
    const { period } = figuresOf(basis, name, basis.time) ?? {}
    const bounds = [period?.start, period?.end].map(millisOf)
    return bounds.some((bound) => Math.abs(bound - basis.time) < BOUNDARY_MS)
  })
}

/** Whether the service has confirmed the time by which a request names its periods. After a start, it may be that of a wrong clock. */
const isConfirmed = ({ client }: Parts): boolean => ["LIVE", "POLLING"].includes(client.view().state)

/** Refills, and answers the calls that it cannot help. Returns whether it did. */
const refillOnce = async (parts: Parts): Promise<"refilled" | "away" | "rejected"> => {
  const { client, goOn, queue, refetch, refiller, spender } = parts
  const wasConfirmed = isConfirmed(parts)
  const result = await refiller.refill(false)
  if (result.type === "problem" && (ACCESS_ENDS.includes(result.code) || !wasConfirmed)) await refetch()
  const isRevoked = client.view().state === "REVOKED"
  const isOfClock = result.type === "problem" && !wasConfirmed && !isRevoked
  if (result.type === "away" || (isOfClock && !isConfirmed(parts))) queue.end(goOn)
  else if (result.type === "problem" && !isOfClock && !isAtBoundary(parts)) {
    queue.end((wish) => {
      const view = client.view()
      if (view.state !== "REVOKED") throw result.error
      return spender.attempt(wish, view) as LocalAnswers
    })
  } else queue.serve(new Set(), new Map())
  if (result.type === "problem" || result.type === "nothing") return "rejected"
  return result.type === "away" ? "away" : "refilled"
}

const isSettled = ({ journal }: Spender): boolean => portionsOf(journal?.spent ?? {}).length === 0

const settleAll = async ({ refiller, spender }: Parts): Promise<void> => {
  let { type } = await refiller.refill(true)
  while ((type === "refilled" || type === "renewed") && !isSettled(spender)) ({ type } = await refiller.refill(true))
}

export const makeSettler = (parts: Parts): Settler => {
  const { client, queue, refiller, spender } = parts
  const { clock } = client.options
  let cancel: (() => void) | undefined
  let running: Promise<void> | undefined
  let isClosed = false
  let requestedAt = -Infinity
  let pausedUntil = -Infinity
  let unsettledSince = Infinity
  let lookedAt = -Infinity

  const refill = async (): Promise<void> => {
    requestedAt = clock.monotonic()
    const sentAt = requestedAt
    const result = await refillOnce(parts)
    // What was spent since the request is not settled.
    if (result === "refilled") unsettledSince = isSettled(spender) ? Infinity : sentAt
    if (result === "rejected") pausedUntil = clock.monotonic() + PAUSE_MS
  }

  const due = (basis: Basis): number => dueAt(basis, { requestedAt, unsettledSince, isShort: refiller.isShort })

  const tick = (): void => {
    cancel?.()
    cancel = undefined
    if (isClosed || running !== undefined) return
    const basis = basisOf(parts)
    if (basis === undefined) return
    if (unsettledSince === Infinity && !isSettled(spender)) unsettledSince = basis.now
    const isWaiting = queue.size() > 0
    const retryAt = isWaiting && refiller.isReachable() ? -Infinity : refiller.retryAt()
    const at = Math.max(isWaiting ? basis.now : due(basis), pausedUntil, retryAt)
    if (at <= basis.now) {
      running = refill().finally(() => {
        running = undefined
        tick()
      })
    } else if (at < Infinity) cancel = clock.after(Math.min(at - basis.now, MAX_TIMER_MS), tick)
  }

  return {
    tick,
    running: () => running,
    spent: () => {
      const now = clock.monotonic()
      if (cancel !== undefined && unsettledSince !== Infinity && now < lookedAt + LOOK_MS) return
      lookedAt = now
      tick()
    },
    close: async () => {
      isClosed = true
      cancel?.()
      await running
      if (spender.journal?.token === undefined && isSettled(spender)) return
      await new Promise<void>((resolve) => {
        const stop = clock.after(MAX_CLOSE_MS, resolve)
        void settleAll(parts).then(() => {
          stop()
          resolve()
        })
      })
    },
  }
}
