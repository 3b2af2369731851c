/** Calls that wait for a refill, in their order. */
import type { LocalAnswers } from "../Answers.ts"
import type { Refill } from "../../offline/index.ts"
import { decimalOf } from "../../offline/values/Decimal.ts"
import type { Clock } from "../Ports.ts"
import type { Demand } from "./Requests.ts"
import type { Attempt, Lack, Wish } from "./Spender.ts"

/** A signal of the caller, as of an `AbortController`. */
export interface Signal {
  readonly aborted: boolean
  readonly reason: unknown
}

interface Call {
  readonly wish: Wish
  readonly signal: Signal | undefined
  readonly resolve: (answers: LocalAnswers) => void
  readonly reject: (error: unknown) => void
  readonly cancel: () => void
  lack: Lack
}

/** What the service did not grant: as much of an entitlement, or more, is denied. */
type Denials = ReadonlyMap<string, { readonly need: bigint; readonly reason: string }>

export interface Queue {
  readonly size: () => number
  /** Waits until it is served, or until its time is over: then `late` answers. */
  readonly enter: (wish: Wish, lack: Lack, signal: Signal | undefined) => Promise<LocalAnswers>
  /** What the first calls need, and all of them want. */
  readonly demands: () => ReadonlyMap<string, Demand>
  /** The calls of now: later ones were not part of a request. */
  readonly present: () => ReadonlySet<object>
  /** Serves those that can be served; denies those of `present` that need what was denied. */
  readonly serve: (present: ReadonlySet<object>, denials: Denials) => void
  /** Ends all calls by an answer. */
  readonly end: (answer: (wish: Wish, lacks: ReadonlyArray<Refill>) => LocalAnswers) => void
}

/** How calls are answered. */
interface Answering {
  readonly attempt: (wish: Wish) => Attempt
  readonly late: (wish: Wish, lacks: ReadonlyArray<Refill>) => LocalAnswers
  readonly deny: (wish: Wish, entitlement: string, reason: string) => LocalAnswers
}

const amountOf = (text: string): bigint => decimalOf(text) ?? 0n

/** Makes a queue in which a call waits for a time at most. */
export const makeQueue = (clock: Clock, waitMs: number, { attempt, deny, late }: Answering): Queue => {
  let calls: Array<Call> = []
  /**
   * How many calls a request is for: the first, and twice as many after each one that was granted. Where the limit is near, units come by
   * needs alone, so a long line would otherwise wait for a request a call.
   */
  let batch = 1

  const settle = (call: Call, answer: () => LocalAnswers | undefined): void => {
    try {
      if (call.signal?.aborted === true) throw call.signal.reason
      const answers = answer()
      if (answers === undefined) return
      call.resolve(answers)
    } catch (error) {
      call.reject(error)
    }
    call.cancel()
    calls = calls.filter((one) => one !== call)
  }

  return {
    size: () => calls.length,
    enter: (wish, lack, signal) =>
      new Promise((resolve, reject) => {
        const cancel = clock.after(waitMs, () => settle(call, () => late(wish, call.lack.lacks)))
        const call: Call = { wish, signal, resolve, reject, cancel, lack }
        calls.push(call)
      }),
    demands: () => {
      const demands = new Map<string, Demand>()
      for (const [place, { lack }] of calls.entries()) {
        for (const { entitlement, need } of lack.needs) {
          const { need: first = 0n, want = 0n } = demands.get(entitlement) ?? {}
          const amount = amountOf(need)
          demands.set(entitlement, { need: place < batch ? first + amount : first, want: want + amount })
        }
      }
      return demands
    },
    present: () => new Set(calls),
    serve: (present, denials) => {
      batch = denials.size > 0 ? 1 : 2 * batch
      for (const call of calls) {
        settle(call, () => {
          const result = attempt(call.wish)
          if (!("lacks" in result)) return result
          call.lack = result
          const denied = result.needs.find(
            ({ entitlement, need }) => amountOf(need) >= (denials.get(entitlement)?.need ?? Infinity),
          )
          if (denied === undefined || !present.has(call)) return undefined
          return deny(call.wish, denied.entitlement, denials.get(denied.entitlement)?.reason ?? "LIMIT_REACHED")
        })
      }
      if (calls.length === 0) batch = 1
    },
    end: (answer) => {
      for (const call of calls) settle(call, () => answer(call.wish, call.lack.lacks))
    },
  }
}
