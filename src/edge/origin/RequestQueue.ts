/**
 * Limits the requests that an edge has in flight at its origin: a change of all flags makes all instances fetch. Those that a caller waits
 * for go first. While the origin is away, one request finds out when it is back, and the others fail at once.
 */
import type { Failure } from "../../local/index.ts"

const MAX_IN_FLIGHT = 16

/** After a request without a response, no other one is sent for this time. */
const QUIET_MS = 1_000

/** Runs a request in its turn. */
export type RequestQueue = <A extends { readonly type: string }>(
  isUrgent: boolean,
  request: () => Promise<A | Failure>,
) => Promise<A | Failure>

const isFailure = (result: { readonly type: string }): result is Failure => result.type === "away"

/** Makes a queue. `monotonic` counts milliseconds. */
export const makeRequestQueue = (monotonic: () => number): RequestQueue => {
  const urgent: Array<() => void> = []
  const others: Array<() => void> = []
  let inFlight = 0
  /** What the last request failed with, and until when the others do. */
  let away: { readonly failure: Failure; readonly until: number } | undefined

  const enter = async (isUrgent: boolean): Promise<void> => {
    if (inFlight < MAX_IN_FLIGHT) inFlight++
    else await new Promise<void>((resolve) => (isUrgent ? urgent : others).push(resolve))
  }
  const leave = (): void => {
    const next = urgent.shift() ?? others.shift()
    if (next === undefined) inFlight--
    else next()
  }

  return async (isUrgent, request) => {
    await enter(isUrgent)
    try {
      if (away !== undefined && monotonic() < away.until) return away.failure
      const result = await request()
      away = isFailure(result) ? { failure: result, until: monotonic() + QUIET_MS } : undefined
      return result
    } finally {
      leave()
    }
  }
}
