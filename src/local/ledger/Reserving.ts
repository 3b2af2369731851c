/** Reservations in memory, for work whose cost is known afterwards. A crash ends them. */
import type { LocalAnswers } from "../Answers.ts"
import type { Clock } from "../Ports.ts"
import type { Spend } from "../../offline/index.ts"
import { decimalOf, textOf } from "../../offline/values/Decimal.ts"
import type { Spender } from "./Spender.ts"
import type { Spent } from "./Journal.ts"

/** A reservation, or the answers that denied it. */
export interface LocalReservation {
  readonly answers: LocalAnswers
  /** Spends what was used, at most what is reserved, and frees the rest. Returns whether the reservation was open. */
  readonly commit: (used: string) => boolean
  readonly release: () => boolean
}

export const makeReserving = (clock: Clock, spender: Spender, spent: () => void) => {
  const open = new Set<() => boolean>()
  return {
    /** `heldAt` is when the units were taken: later, their period may have ended. */
    make: (answers: LocalAnswers, spends: ReadonlyArray<Spend>, ttlMs: number, heldAt: number): LocalReservation => {
      const release = (): boolean => {
        if (!open.delete(release)) return false
        cancel()
        for (const { amount, entitlement, period } of spends)
          spender.hold(entitlement, period, -(decimalOf(amount) ?? 0n))
        spent()
        return true
      }
      const cancel = clock.after(ttlMs, release)
      open.add(release)
      return {
        answers,
        commit: (used) => {
          const amount = decimalOf(used) ?? -1n
          if (amount < 0n || spends.some((one) => amount > (decimalOf(one.amount) ?? 0n))) {
            throw new RangeError("A commit is 0 or more, and at most what is reserved")
          }
          if (!open.has(release)) return false
          const spend = spends.map(({ entitlement, period }): Spent => [entitlement, textOf(amount), period])
          // Written before the units are free, and counted in the period in which they were reserved.
          if (amount > 0n) spender.write([{ spend, at: Math.floor(heldAt) }])
          return release()
        },
        release,
      }
    },
    end: () => {
      for (const release of open) release()
    },
  }
}
