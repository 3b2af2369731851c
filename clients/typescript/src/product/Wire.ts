/** How the parts of a product's client send requests. */
import type { ClientOptions } from "../Client.ts"
import { ConnectionError } from "../Errors.ts"
import { segmentOf } from "../RequestRules.ts"
import { MAX_TIMER_MS, Settings } from "../Settings.ts"
import { sendText } from "../Transport.ts"
import type { TextRequest, TextResponse } from "../Transport.ts"
import { systemClock } from "../../../../src/machine/SystemClock.ts"

/** A product waits for a shorter time than a pipeline, and never forever. */
export const DEFAULTS = { timeoutMs: 10_000, deadlineMs: 30_000 }

/** Sends a request of one credential. */
export type Send = (request: TextRequest) => Promise<TextResponse>

/** Throws `ConfigurationError` for settings that can never work. */
export const makeSend = (options: ClientOptions): Send => {
  const settings = new Settings(options, DEFAULTS)
  return (request) => sendText(settings, request)
}

/** The path of an operation; each segment is encoded. Throws `TypeError` for one that cannot be a slug. */
export const pathOf = (...segments: ReadonlyArray<string>): string =>
  `/api/${segments.map((segment) => segmentOf("A slug", segment)).join("/")}`

/**
 * Reads a success, or fails with a `ConnectionError`: something other than the service responded, such as the sign-in page of a
 * network.
 */
export const readAs = <A>({ text }: TextResponse, what: string, read: (text: string) => A | undefined): A => {
  let cause: unknown
  try {
    const value = read(text)
    if (value !== undefined) return value
  } catch (error) {
    cause = error
  }
  throw new ConnectionError(`The response is not ${what}`, { cause })
}

/** A random id: a UUID of version 4. `crypto.randomUUID` is missing on pages that were not loaded by HTTPS. */
export const randomId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}

/** The text of a time with an offset. Throws `RangeError` if it is none. */
export const timeText = (time: Date | string): string => {
  if (time instanceof Date) return time.toISOString()
  const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(time)
  if (!isInstant || Number.isNaN(Date.parse(time))) throw new RangeError(`${time} is not a time with an offset`)
  return time
}

/** A lock: works run one after the other. */
export const makeLock = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <A>(work: () => Promise<A>): Promise<A> => {
    const run = last.then(work, work)
    last = run.catch(() => undefined)
    return run
  }
}

/**
 * Starts work after each interval until it is stopped. A process that has nothing else to do may end. Throws `RangeError` for an interval
 * that would be none: the work would run without a pause.
 */
export const every = (millis: number, work: () => Promise<unknown>): (() => Promise<void>) => {
  if (!(millis > 0 && millis <= MAX_TIMER_MS)) throw new RangeError("An interval is above 0 ms and at most 24 days")
  let isStopped = false
  let running: Promise<unknown> = Promise.resolve()
  let cancel = () => {}
  const wait = () => {
    if (isStopped) return
    cancel = systemClock.after(millis, () => (running = work().then(wait, wait)))
  }
  wait()
  return async () => {
    isStopped = true
    cancel()
    await running
  }
}
