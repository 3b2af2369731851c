/** Seats of a `CONCURRENT` entitlement: a holder has one for a time, and renews it. */
import { own } from "../../../../src/offline/values/Unknown.ts"
import { isProblem, isServiceAway } from "../Errors.ts"
import { elapsedMs, readClocks } from "../Clocks.ts"
import { jsonOf, labelOf, segmentOf } from "../RequestRules.ts"
import { NO_BODY } from "../Responses.ts"
import { every, makeLock, pathOf, randomId, readAs } from "./Wire.ts"
import type { Send } from "./Wire.ts"

const DEFAULT_TTL_SECONDS = 300

/** Who takes which seat. */
export interface SeatRequest {
  /** Such as a user or a device. */
  readonly holder: string
  /** How long the seat is held without a renewal; 300 by default. */
  readonly ttlSeconds?: number
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** What a renewal in the background did. */
export type Renewed = { readonly renewed: true } | { readonly renewed: false; readonly error: unknown }

/** A seat that is held. It ends by itself after its time, and is free at once after `release`. */
export interface Seat {
  readonly instance: string
  readonly entitlement: string
  readonly holder: string
  readonly id: string
  /** When the service frees the seat, as it describes it. */
  readonly expiresAt: string
  /** Milliseconds for which the seat is surely held, by the clocks of this machine. */
  readonly remainingMs: number
  /** Whether the seat is surely held now. */
  readonly isHeld: boolean
  /**
   * Holds the seat for its whole time from now on. Fails with the code `AcquireLease.LimitReached` if it had ended and others
   * took it. While the service is away, the seat stays held until its time is up.
   */
  readonly renew: () => Promise<void>
  /** Renews the seat by a timer, three times in its time, until `release`, or until the service rejects a renewal. */
  readonly keep: (onRenewal?: (outcome: Renewed) => void) => void
  /** Frees the seat. */
  readonly release: () => Promise<void>
}

interface Lease {
  readonly id: string
  readonly expiresAt: string
}

const leaseIn = (text: string): Lease | undefined => {
  const [id, expiresAt] = ["id", "expiresAt"].map((name) => own(JSON.parse(text), name))
  return typeof id === "string" && id !== "" && typeof expiresAt === "string" ? { id, expiresAt } : undefined
}

/** Takes a seat. */
export const acquireSeat = async (
  send: Send,
  instance: string,
  entitlement: string,
  { holder, metadata, ttlSeconds = DEFAULT_TTL_SECONDS }: SeatRequest,
): Promise<Seat> => {
  const path = pathOf("instances", instance, "entitlements", entitlement, "leases")
  labelOf("holder", holder)
  if (!(ttlSeconds > 0 && ttlSeconds < Infinity)) throw new RangeError("ttlSeconds must be a number above 0")
  const exclusively = makeLock()

  const acquire = async (more: object) => {
    // The time counts from before the request: the seat is never taken for held longer than by the service.
    const since = readClocks()
    // A holder has one lease: a repeated request renews it. The key distinguishes a repetition from the next renewal.
    const response = await send({
      method: "POST",
      path,
      body: jsonOf({ holder, ttlSeconds, ...more }),
      idempotencyKey: randomId(),
    })
    return { ...readAs(response, "a lease", leaseIn), since }
  }

  let lease = await acquire(metadata === undefined ? {} : { metadata })
  let isReleased = false
  let stop: (() => Promise<void>) | undefined
  const remainingMs = () => (isReleased ? 0 : Math.max(0, ttlSeconds * 1000 - elapsedMs(lease.since, readClocks())))

  const renew = () =>
    exclusively(async () => {
      if (isReleased) throw new TypeError("The seat was released")
      lease = await acquire({})
    })

  return {
    instance,
    entitlement,
    holder,
    get id() {
      return lease.id
    },
    get expiresAt() {
      return lease.expiresAt
    },
    get remainingMs() {
      return remainingMs()
    },
    get isHeld() {
      return remainingMs() > 0
    },
    renew,
    keep(onRenewal) {
      if (stop !== undefined) throw new TypeError("The seat is kept already")
      const stopTimer = every((ttlSeconds * 1000) / 3, async () => {
        if (isReleased) return
        const outcome: Renewed = await renew().then(
          () => ({ renewed: true }),
          (error: unknown) => ({ renewed: false, error }),
        )
        // `stop` would wait for this very renewal.
        if (!outcome.renewed && !isServiceAway(outcome.error)) void stopTimer()
        onRenewal?.(outcome)
      })
      stop = stopTimer
    },
    async release() {
      await stop?.()
      await exclusively(async () => {
        if (isReleased) return
        isReleased = true
        const leasePath = `${path}/${segmentOf("The id of the lease", lease.id)}`
        await send({ method: "DELETE", path: leasePath, promised: [NO_BODY] }).catch((error: unknown) => {
          // It has ended, or the response to the first attempt was lost.
          if (!isProblem(error, "Lease.NotFound")) throw error
        })
      })
    },
  }
}
