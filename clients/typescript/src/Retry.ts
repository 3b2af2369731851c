/** Whether a request is repeated, and after how long. Pure: all clients decide by the same vectors. */

const INITIAL_DELAY_MS = 200
/** A longer `Retry-After` is left to the caller. */
const MAX_DELAY_MS = 30_000

const GATEWAY: ReadonlyArray<number> = [502, 503, 504]
const IN_FLIGHT = "IdempotencyKey.InFlight"
const SECONDS = /^\s*\d+(\.\d+)?\s*$/

/** What is known of an attempt that failed. */
export interface Attempt {
  /** 1 is the first. */
  readonly attempt: number
  /** The maximum number of retries. */
  readonly retries: number
  /** Whether the request has the same effect if it is sent twice. */
  readonly isIdempotent: boolean
  /** `null`: there was no response. */
  readonly status: number | null
  readonly code: string | null
  /** The header. */
  readonly retryAfter: string | null
  /** From 0 to 1. */
  readonly random: number
}

/** Whether the service is away: no response, or one that says nothing about the request. */
export const isAway = (status: number | null, code: string | null): boolean =>
  status === null || status === 429 || status >= 500 || code === IN_FLIGHT

/**
 * Milliseconds to wait before the next attempt, `undefined` if the request is not repeated. A 429 is returned before any work
 * is done. Without a response, and behind 502, 503 and 504, the request may have been executed: it is repeated only if that has
 * the same effect. A key that is still in flight belongs to the request before.
 */
export const delayBeforeRetry = (failed: Attempt): number | undefined => {
  const { attempt, code, isIdempotent, random, retries, retryAfter, status } = failed
  const mayRepeat = status === null || GATEWAY.includes(status) || code === IN_FLIGHT
  if (attempt > retries || !(status === 429 || (mayRepeat && isIdempotent))) return undefined
  if (retryAfter !== null && SECONDS.test(retryAfter)) {
    const delay = Number(retryAfter) * 1000
    return delay <= MAX_DELAY_MS ? delay : undefined
  }
  return Math.min(INITIAL_DELAY_MS * 2 ** (attempt - 1) * (0.5 + random), MAX_DELAY_MS)
}
