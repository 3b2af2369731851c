/** A local buffer of usage reports. They are sent in batches, and each counts once. */
import { ConfigurationError, ConnectionError, ProblemError } from "../Errors.ts"
import { amountOf } from "./Decimal.ts"
import type { Amount } from "./Decimal.ts"
import type { Journal, OpenJournal } from "./Journal.ts"
import { BufferFull, FlushFailed } from "./UsageErrors.ts"
import type { FlushResult, UsageEvent } from "./UsageErrors.ts"
import { labelOf } from "../RequestRules.ts"
import { count, isOfAnEvent, verdictsIn } from "./UsageResults.ts"
import type { Counts } from "./UsageResults.ts"
import { every, makeLock, randomId, readAs, timeText } from "./Wire.ts"
import type { Send } from "./Wire.ts"

/** How many events may wait, if the caller does not say. */
const DEFAULT_CAPACITY = 10_000
const MAX_BATCH = 1_000
/** The service accepts bodies of up to 1 MiB. */
const MAX_BATCH_BYTES = 900_000

/** Options of a report. */
export interface BufferedReport {
  /** Default: now. */
  readonly time?: Date | string
  /** What is counted once per period for entitlements of unique values. */
  readonly uniqueKey?: string
  /** An id of yours: the same id of one source counts once within 35 days. Default: a random one. */
  readonly id?: string
}

/** How a buffer is opened. */
export interface BufferOptions {
  /** A file in which events survive a restart. Its folder must exist. It needs Node.js 22.13 or newer. Without it, events are in memory. */
  readonly path?: string
  /** How many events may wait; 10,000 by default. */
  readonly capacity?: number
  /** The CloudEvents source of a new buffer. Default: a random one, which stays with the file. */
  readonly source?: string
}

/**
 * Collects reports. An event leaves the buffer only when the service has answered about it. If a response is lost, the event is
 * sent again with the same id, and counts once.
 */
export interface UsageBuffer {
  readonly source: string
  /** How many events wait to be sent. */
  readonly size: number
  /**
   * Takes a report and returns its id. With a path, it is on the disk then. Fails with `BufferFull`, and with a `RangeError` for
   * what the service could not count.
   */
  readonly report: (instance: string, entitlement: string, value?: Amount, options?: BufferedReport) => Promise<string>
  /** Sends all events that wait. Fails with `FlushFailed` if some could not be sent. */
  readonly flush: () => Promise<FlushResult>
  /** Flushes after each interval until `stop` or `close`. `onFlush` receives what each flush did. */
  readonly start: (intervalMs: number, onFlush?: (outcome: FlushResult | FlushFailed) => void) => void
  /** Ends the flushes of `start`, after the one that may be in flight. */
  readonly stop: () => Promise<void>
  /** Stops and closes the file. Sends nothing: events of a file wait for the next process. */
  readonly close: () => Promise<void>
}

const batchOf = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  let size = 0
  const encoder = new TextEncoder()
  const end = lines.slice(0, MAX_BATCH).findIndex((line, index) => {
    size += encoder.encode(line).length + 1
    return size > MAX_BATCH_BYTES && index > 0
  })
  return lines.slice(0, end === -1 ? MAX_BATCH : end)
}

const eventOf = (line: string): UsageEvent => JSON.parse(line)

/** Makes a buffer on a journal. */
const makeBuffer = (send: Send, journal: Journal, capacity: number): UsageBuffer => {
  const withJournal = makeLock()
  const flushing = makeLock()
  /** Reports that wait for the disk. All of them are stored by one write. */
  let unstored: Array<string> = []
  let storing: Promise<void> | undefined
  /** How many reports are neither stored nor rejected yet. */
  let pending = 0
  let stopTimer: (() => Promise<void>) | undefined

  const store = async (line: string) => {
    unstored.push(line)
    pending++
    storing ??= withJournal(async () => {
      const lines = unstored
      unstored = []
      storing = undefined
      await journal.append(lines).finally(() => (pending -= lines.length))
    })
    await storing
  }

  const size = () => journal.lines().length + pending

  /** Removes the events that have a result. They follow `skip` others. */
  const settle = async (
    skip: number,
    events: ReadonlyArray<UsageEvent>,
    verdicts: ReadonlyArray<unknown>,
    counts: Counts,
  ) => {
    const settled = events.flatMap((event, index) => (count(counts, verdicts[index], event) ? [skip + index] : []))
    await withJournal(() => journal.remove(new Set(settled)))
    return events.length - settled.length
  }

  const sendLines = async (skip: number, lines: ReadonlyArray<string>, counts: Counts): Promise<void> => {
    const events = lines.map(eventOf)
    const sent = await send({
      method: "POST",
      path: "/api/usage-events",
      body: `[${lines.join(",")}]`,
      headers: { "content-type": "application/cloudevents-batch+json" },
      // The service counts each event once, by its source and id.
      isIdempotent: true,
    }).catch((error: unknown) => {
      if (isOfAnEvent(error)) return error
      throw error
    })
    if (!(sent instanceof ProblemError)) {
      const left = await settle(skip, events, readAs(sent, "a list of results", verdictsIn(events.length)), counts)
      if (left > 0) throw new ConnectionError(`The response has no result for ${left} events`)
    } else if (lines.length === 1) {
      await settle(skip, events, [{ status: "rejected", code: sent.code, message: sent.detail }], counts)
    } else {
      const middle = Math.floor(lines.length / 2)
      // The second half first: removing its events does not move those of the first.
      await sendLines(skip + middle, lines.slice(middle), counts)
      await sendLines(skip, lines.slice(0, middle), counts)
    }
  }

  const flush = () =>
    flushing(async () => {
      const counts: Counts = { accepted: 0, duplicates: 0, rejected: [] }
      let waiting = journal.lines().length
      while (waiting > 0) {
        const batch = batchOf(journal.lines().slice(0, waiting))
        try {
          await sendLines(0, batch, counts)
        } catch (error) {
          throw new FlushFailed(counts, error)
        }
        waiting -= batch.length
      }
      return counts satisfies FlushResult
    })

  const stop = async () => {
    const stopping = stopTimer
    stopTimer = undefined
    await stopping?.()
  }

  return {
    source: journal.source,
    get size() {
      return size()
    },
    async report(instance, entitlement, value = 1, { id = randomId(), time = new Date(), uniqueKey } = {}) {
      const decimal = amountOf(value)
      const event: UsageEvent = {
        specversion: "1.0",
        id: labelOf("id", id),
        source: journal.source,
        subject: labelOf("instance", instance),
        type: labelOf("entitlement", entitlement),
        time: timeText(time),
        data: {
          value: decimal,
          ...(uniqueKey === undefined ? {} : { uniqueKey: labelOf("uniqueKey", uniqueKey) }),
        },
      }
      if (size() >= capacity) {
        throw new BufferFull(`The buffer holds ${capacity} events`)
      }
      await store(JSON.stringify(event))
      return id
    },
    flush,
    start(intervalMs, onFlush) {
      if (stopTimer !== undefined) throw new TypeError("The buffer is flushed in the background already")
      stopTimer = every(intervalMs, async () => {
        if (journal.lines().length === 0) return
        const outcome = await flush().catch((error: unknown) =>
          error instanceof FlushFailed ? error : new FlushFailed({ accepted: 0, duplicates: 0, rejected: [] }, error),
        )
        onFlush?.(outcome)
      })
    },
    stop,
    async close() {
      await stop()
      await flushing(() => withJournal(() => journal.close()))
    },
  }
}

/** Opens a buffer. */
export const openBuffer = async (
  send: Send,
  openJournal: OpenJournal,
  { capacity = DEFAULT_CAPACITY, path, source = `urn:keyshelf:sdk:${randomId()}` }: BufferOptions,
): Promise<UsageBuffer> => {
  if (!(capacity >= 1)) throw new ConfigurationError("capacity", "must be a number, 1 or more")
  return makeBuffer(send, await openJournal(labelOf("source", source), path), capacity)
}
