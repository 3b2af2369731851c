/**
 * The states of a local client. They follow from facts and the time: nothing has to set them.
 *
 * | State | When |
 * |---|---|
 * | `STARTING` | The first fetch is in flight, and nothing was stored |
 * | `LIVE` | A stream is open, a snapshot was confirmed after it opened, and a frame came within 30 s |
 * | `POLLING` | Not `LIVE`; the service confirmed the snapshot within twice `max-age` |
 * | `STALE` | It did so longer ago, or the snapshot was restored |
 * | `EXPIRED` | From the `exp` of the snapshot on |
 * | `NONE` | There is no usable snapshot |
 * | `REVOKED` | The service ended the access |
 * | `CLOSED` | `close` was called |
 */

export type LocalState = "STARTING" | "LIVE" | "POLLING" | "STALE" | "EXPIRED" | "NONE" | "REVOKED" | "CLOSED"

/** How long a stream may be silent. The service sends a comment every 15 s. */
export const MAX_SILENCE_MS = 30_000

/** How soon to ask again, unless the service says it. */
export const DEFAULT_MAX_AGE_MS = 30_000

/** What a state follows from. Times are monotonic, in milliseconds. */
export interface Facts {
  isClosed: boolean
  isRevoked: boolean
  isStarting: boolean
  /** When the snapshot in force expires, in seconds since 1970; absent if there is none. */
  exp: number | undefined
  /** When the service last confirmed the snapshot by a response. */
  confirmedAt: number
  /** When the request for that response was sent; absent if the snapshot was restored. */
  requestedAt: number | undefined
  maxAgeMs: number
  /** Absent if no stream is open. */
  openedAt: number | undefined
  /** When the stream sent anything. */
  frameAt: number
}

export const initialFacts = (): Facts => ({
  isClosed: false,
  isRevoked: false,
  isStarting: true,
  exp: undefined,
  confirmedAt: 0,
  requestedAt: undefined,
  maxAgeMs: DEFAULT_MAX_AGE_MS,
  openedAt: undefined,
  frameAt: 0,
})

const isLive = ({ exp, frameAt, openedAt, requestedAt }: Facts, monotonic: number): boolean =>
  exp !== undefined &&
  openedAt !== undefined &&
  requestedAt !== undefined &&
  requestedAt >= openedAt &&
  monotonic - frameAt <= MAX_SILENCE_MS

/** Until when a snapshot that was confirmed without a stream is fresh. */
export const freshUntil = ({ confirmedAt, maxAgeMs, requestedAt }: Facts): number =>
  requestedAt === undefined ? -Infinity : confirmedAt + 2 * maxAgeMs

/** The state at a time by both clocks. `time` is that of the service, in milliseconds since 1970. */
export const stateAt = (facts: Facts, monotonic: number, time: number): LocalState => {
  if (facts.isClosed) return "CLOSED"
  if (facts.isRevoked) return "REVOKED"
  if (facts.exp === undefined) return facts.isStarting ? "STARTING" : "NONE"
  if (time >= facts.exp * 1000) return "EXPIRED"
  if (isLive(facts, monotonic)) return "LIVE"
  return monotonic <= freshUntil(facts) ? "POLLING" : "STALE"
}

/** Milliseconds since the service confirmed the snapshot: by a response, or by any frame while the client is live. */
export const ageAt = (facts: Facts, monotonic: number): number | null => {
  if (facts.exp === undefined || facts.isRevoked) return null
  const { confirmedAt, frameAt } = facts
  return Math.max(0, monotonic - (isLive(facts, monotonic) ? Math.max(confirmedAt, frameAt) : confirmedAt))
}
