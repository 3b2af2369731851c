/**
 * Follows the service for one instance: opens a stream of changes, fetches the snapshot after it, after each change and from
 * time to time, and tries again when the service is away.
 */
import { politeDelay, retryDelay, spread } from "./Backoff.ts"
import { makeFrameReader } from "./Frames.ts"
import type { Holder, Outcome } from "./Holder.ts"
import type { Failure, LocalOptions, Reply } from "./Ports.ts"
import { afterRefill, besideRefill } from "./Overlaps.ts"
import { ACCESS_ENDS } from "./Rejections.ts"
import { freshUntil, MAX_SILENCE_MS, stateAt } from "./States.ts"
import type { LocalState } from "./States.ts"

/** How long a fetch waits for a stream that does not open. */
const OPEN_WAIT_MS = 500
/** After a change, clients do not fetch at the same time. */
const MAX_CHANGE_DELAY_MS = 200
/** A frame may be lost: the snapshot is fetched at least so often. */
const LIVE_INTERVAL_MS = 300_000
/** How often a product whose access was ended asks whether it is back. */
const REVOKED_INTERVAL_MS = 60_000
const FIRST_RETRY_MS = 1_000
/** How often the latest time is stored. */
const STORE_INTERVAL_MS = 60_000
/** No timer is longer: a machine may sleep. */
const MAX_TIMER_MS = 3_600_000

interface Follower {
  readonly begin: () => void
  /** Fetches now, and resolves with the result of a request that was sent after the call. */
  readonly fetchNow: () => Promise<Outcome>
  /** Resolves with the result of the next request. */
  readonly nextOutcome: () => Promise<Outcome>
  readonly stop: () => void
}

/** What becomes of requests that a client does not wait for any more. */
const STOPPED: Failure = { type: "away", code: "", error: new Error("The client was closed") }

/** What is due, by the monotonic clock. */
interface Due {
  fetch: number
  reconnect: number
  store: number
}

/** What a follower changes. */
interface Progress {
  readonly due: Due
  isStopped: boolean
  isFetching: boolean
  /** Whether a change is not fetched yet: the next request needs a new snapshot. */
  isChanged: boolean
  /** Whether a refill overlapped the last request, so that it is repeated. */
  isRepeated: boolean
  fetchFailures: number
  streamFailures: number
  /** What the last stream named. */
  retryMs: number
  closeStream: (() => void) | undefined
  waiting: Array<(outcome: Outcome) => void>
}

type Parts = {
  readonly instance: string
  readonly options: LocalOptions
  readonly holder: Holder
  readonly progress: Progress
  readonly tick: () => void
  /** The refill in flight. */
  readonly refilling: () => Promise<void> | undefined
}

const closeStream = ({ holder: { facts }, progress }: Parts): void => {
  progress.closeStream?.()
  progress.closeStream = undefined
  facts.openedAt = undefined
}

/** Plans the next stream and the next fetch after the end of a stream. */
const planAfterStream = (parts: Parts, failure: Failure | undefined): void => {
  const { clock } = parts.options
  const { holder, progress } = parts
  const { facts } = holder
  const now = clock.monotonic()
  const wasOpen = facts.openedAt !== undefined
  closeStream(parts)
  progress.streamFailures++
  const delay = politeDelay(
    retryDelay(progress.streamFailures, progress.retryMs, clock.random()),
    failure?.retryAfterMs,
  )
  progress.due.reconnect = now + delay
  const isEnd = failure?.type === "problem" && ACCESS_ENDS.includes(failure.code)
  if (isEnd || facts.isStarting) progress.due.fetch = now
  else if (wasOpen) {
    const polledAt = Math.max(now + delay + OPEN_WAIT_MS, facts.confirmedAt + facts.maxAgeMs)
    progress.due.fetch = Math.min(progress.due.fetch, polledAt)
  }
}

const connect = (parts: Parts): void => {
  const { clock, service } = parts.options
  const { holder, instance, progress, tick } = parts
  const { facts } = holder
  const read = makeFrameReader(instance)
  progress.due.reconnect = Infinity
  progress.closeStream = service.changes(instance, {
    opened: () => {
      const now = clock.monotonic()
      Object.assign(facts, { openedAt: now, frameAt: now })
      progress.streamFailures = 0
      // The stream reports changes from now on. A fetch finds those before.
      progress.due.fetch = now
      tick()
    },
    text: (chunk) => {
      const now = clock.monotonic()
      const { hasChange, retryMs = progress.retryMs } = read(chunk)
      facts.frameAt = now
      progress.retryMs = retryMs
      if (hasChange) {
        progress.isChanged = true
        progress.due.fetch = Math.min(progress.due.fetch, now + MAX_CHANGE_DELAY_MS * clock.random())
      }
      tick()
    },
    ended: (failure) => {
      planAfterStream(parts, failure)
      tick()
    },
  })
}

/** Plans what follows a fetch. */
const planAfterFetch = (parts: Parts, outcome: Outcome, wasConditional: boolean): void => {
  const { clock } = parts.options
  const { holder, progress } = parts
  const { due } = progress
  const { facts } = holder
  const [now, random] = [clock.monotonic(), clock.random()]
  if (outcome.type === "confirmed") {
    progress.fetchFailures = 0
    const { openedAt, requestedAt = now } = facts
    const isBehind = progress.isChanged || (openedAt !== undefined && requestedAt < openedAt)
    due.fetch = isBehind ? now : now + spread(openedAt === undefined ? facts.maxAgeMs : LIVE_INTERVAL_MS, random)
    // After the end of an access there was no stream.
    if (progress.closeStream === undefined && due.reconnect === Infinity) due.reconnect = now
  } else if (outcome.type === "revoked") {
    closeStream(parts)
    progress.isChanged = false
    due.reconnect = Infinity
    due.fetch = now + spread(REVOKED_INTERVAL_MS, random)
  } else {
    progress.isChanged ||= !wasConditional
    const delay = retryDelay(++progress.fetchFailures, FIRST_RETRY_MS, random)
    due.fetch = now + politeDelay(delay, outcome.retryAfterMs)
  }
}

const fetchSnapshot = async (parts: Parts): Promise<void> => {
  const { clock, onEvent, service } = parts.options
  const { holder, instance, progress, tick } = parts
  const etag = progress.isChanged ? null : (holder.snapshot()?.etag ?? null)
  const settled = progress.waiting
  Object.assign(progress, { isFetching: true, isChanged: false, waiting: [] })
  progress.due.fetch = Infinity
  const sentAt = clock.monotonic()
  const sent = await service
    .snapshot(instance, etag)
    .catch((error: unknown): Reply => ({ type: "away", code: "", error }))
  await afterRefill(clock, parts.refilling())
  const reply = besideRefill(sent, sentAt, holder.lastRefill(), progress.isRepeated)
  progress.isRepeated = reply === "repeat"
  if (reply === "repeat" && !progress.isStopped) {
    Object.assign(progress, { isFetching: false, isChanged: true, waiting: [...settled, ...progress.waiting] })
    progress.due.fetch = clock.monotonic()
    return tick()
  }
  const outcome = progress.isStopped || reply === "repeat" ? undefined : await holder.receive(reply, sentAt)
  progress.isFetching = false
  if (progress.isStopped || outcome === undefined) {
    for (const settle of settled) settle(STOPPED)
    return
  }
  holder.facts.isStarting = false
  if ("error" in outcome) onEvent?.({ type: "error", instance, error: outcome.error })
  planAfterFetch(parts, outcome, etag !== null)
  for (const settle of settled) settle(outcome)
  tick()
}

/** Tells changes of the state. */
const makeNotice = (instance: string, { clock, onEvent }: LocalOptions, { facts, time }: Holder) => {
  let previous: LocalState = "STARTING"
  return () => {
    const state = stateAt(facts, clock.monotonic(), time())
    if (state === previous) return
    onEvent?.({ type: "state", instance, state, previous })
    previous = state
  }
}

/** When something happens by time: what is due, and what a state ends with. */
const nextAt = ({ options: { clock }, holder: { facts, time }, progress: { due, isFetching } }: Parts): number => {
  const now = clock.monotonic()
  const silentAt = facts.openedAt === undefined ? Infinity : facts.frameAt + MAX_SILENCE_MS + 1
  const expiresAt = facts.exp === undefined ? Infinity : now + facts.exp * 1000 - time()
  const ends = [silentAt, freshUntil(facts) + 1, expiresAt].filter((at) => at > now)
  return Math.min(isFetching ? Infinity : due.fetch, due.reconnect, due.store, now + MAX_TIMER_MS, ...ends)
}

/** Makes the follower of an instance. It does nothing before `begin`. */
export const makeFollower = (
  instance: string,
  options: LocalOptions,
  holder: Holder,
  refilling: Parts["refilling"],
): Follower => {
  const { clock } = options
  const { facts } = holder
  const due: Due = { fetch: Infinity, reconnect: Infinity, store: Infinity }
  const progress: Progress = {
    due,
    isStopped: false,
    isFetching: false,
    isChanged: false,
    isRepeated: false,
    fetchFailures: 0,
    streamFailures: 0,
    retryMs: FIRST_RETRY_MS,
    closeStream: undefined,
    waiting: [],
  }
  const notice = makeNotice(instance, options, holder)
  let cancel: (() => void) | undefined
  const tick = (): void => {
    if (progress.isStopped) return
    const now = clock.monotonic()
    if (facts.openedAt !== undefined && now - facts.frameAt > MAX_SILENCE_MS) planAfterStream(parts, undefined)
    if (now >= due.store) {
      due.store = now + STORE_INTERVAL_MS
      void holder.store()
    }
    if (now >= due.reconnect) connect(parts)
    if (now >= due.fetch && !progress.isFetching) void fetchSnapshot(parts)
    notice()
    cancel?.()
    cancel = clock.after(Math.max(0, nextAt(parts) - now), tick)
  }
  const parts: Parts = { instance, options, holder, progress, tick, refilling }
  const nextOutcome = () => new Promise<Outcome>((resolve) => progress.waiting.push(resolve))
  return {
    begin: () => {
      const now = clock.monotonic()
      due.store = now + STORE_INTERVAL_MS
      // Whose access was ended has no stream either.
      due.reconnect = facts.isRevoked ? Infinity : now
      due.fetch = facts.isRevoked ? now : now + OPEN_WAIT_MS
      tick()
    },
    fetchNow: () => {
      const outcome = nextOutcome()
      progress.isChanged = true
      due.fetch = clock.monotonic()
      tick()
      return outcome
    },
    nextOutcome,
    stop: () => {
      progress.isStopped = true
      cancel?.()
      closeStream(parts)
      for (const settle of progress.waiting.splice(0)) settle(STOPPED)
      notice()
    },
  }
}
