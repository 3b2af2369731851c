/**
 * The stream of changes of one credential. All instances of the credential and all streams of products behind the edge share it. It
 * ends theirs when it ends, so that no client behind an edge takes an old snapshot for a new one.
 */
import type { IncomingMessage } from "node:http"
import { own } from "../../offline/values/Unknown.ts"
import { politeDelay, retryDelay } from "../../local/Backoff.ts"
import { MAX_SILENCE_MS } from "../../local/States.ts"
import type { Clock, Failure, StreamListener } from "../../local/index.ts"
import { EVENT_STREAM } from "../../kernel/values/MediaTypes.ts"
import type { Target } from "../../domains/events/changes/Model.ts"
import { dataOf } from "../../domains/events/changes/Rules.ts"
import { awayBecause, failureOf } from "./Replies.ts"
import { headerOf } from "./Requests.ts"
import type { Origin } from "./Requests.ts"

const PATH = "/api/changes"
const OPENING_MS = 10_000
const FIRST_RETRY_MS = 1_000
/** A frame that is longer is not of the service. */
const MAX_FRAME_LENGTH = 65_536

/** Receives what the stream says. */
interface Follower {
  readonly opened: () => void
  readonly changed: (target: Target) => void
  /** The stream is alive. */
  readonly comment: () => void
  readonly ended: (failure?: Failure) => void
}

const TARGETS = ["instance", "license", "customer", "zone"] as const

/** Whom a frame concerns; `undefined` if it is no change. */
const targetIn = (data: string): Target | undefined => {
  try {
    const frame: unknown = JSON.parse(data)
    if (own(frame, "type") !== "refetchEvaluation") return undefined
    for (const of of TARGETS) {
      const slug = own(frame, of)
      if (typeof slug === "string") return { of, slug }
    }
    return { of: "all" }
  } catch {
    return undefined
  }
}

/** What an event of a stream says. */
interface FrameEvent {
  readonly retryMs: number | undefined
  readonly target: Target | undefined
}

/** Reads events. Texts may break anywhere. */
const makeEventReader = () => {
  let rest = ""
  return (text: string): ReadonlyArray<FrameEvent> => {
    const blocks = (rest + text).split("\n\n")
    rest = (blocks.pop() ?? "").slice(0, MAX_FRAME_LENGTH)
    return blocks.map((block) => {
      const [, data] = /^data: ?(.*)$/m.exec(block) ?? []
      const [, retry] = /^retry: ?(\d{1,9})$/m.exec(block) ?? []
      return {
        retryMs: retry === undefined ? undefined : Number(retry),
        target: data === undefined ? undefined : targetIn(data),
      }
    })
  }
}

interface FeedOptions {
  readonly origin: Origin
  readonly clock: Clock
  readonly authorization: string
  /** Called when the stream has opened or ended. */
  readonly onChange: (isOpen: boolean) => void
  /** Called when it could not be opened. */
  readonly onFailure: (failure: Failure) => void
}

/** The feed of a credential. It opens nothing before its first follower. */
export class ChangeFeed {
  readonly #options: FeedOptions
  readonly #followers = new Set<Follower>()
  #phase: "idle" | "opening" | "open" | "waiting" | "closed" = "idle"
  #failures = 0
  #retryMs = FIRST_RETRY_MS
  #abort: AbortController | undefined
  #cancelRetry: (() => void) | undefined

  constructor(options: FeedOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#phase === "open"
  }

  /** Adds a follower, and opens the stream for the first one. Returns what removes it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    if (this.#phase === "idle") void this.#open()
    // Not at once: the caller has not finished.
    else if (this.isOpen) queueMicrotask(() => this.#followers.has(follower) && follower.opened())
    return () => this.#followers.delete(follower)
  }

  close(): void {
    this.#phase = "closed"
    this.#cancelRetry?.()
    this.#abort?.abort()
    this.#dismiss(undefined)
  }

  /** Calls those that follow now. What a follower does may add others. */
  #notify(say: (follower: Follower) => void): void {
    for (const follower of Array.from(this.#followers)) say(follower)
  }

  #dismiss(failure: Failure | undefined): void {
    const concerned = [...this.#followers]
    this.#followers.clear()
    for (const follower of concerned) follower.ended(failure)
  }

  #end(failure?: Failure): void {
    if (this.#phase === "closed") return
    const { clock, onChange, onFailure } = this.#options
    const wasOpen = this.isOpen
    this.#phase = "waiting"
    this.#abort?.abort()
    const delay = politeDelay(retryDelay(++this.#failures, this.#retryMs, clock.random()), failure?.retryAfterMs)
    this.#cancelRetry = clock.after(delay, () => void this.#open())
    if (wasOpen) onChange(false)
    if (failure !== undefined) onFailure(failure)
    this.#dismiss(failure)
  }

  #take(text: string, read: (text: string) => ReadonlyArray<FrameEvent>): void {
    for (const { retryMs, target } of read(text)) {
      if (retryMs !== undefined) this.#retryMs = retryMs
      this.#notify((follower) => (target === undefined ? follower.comment() : follower.changed(target)))
    }
  }

  #receive(response: IncomingMessage, signal: AbortSignal): void {
    const read = makeEventReader()
    this.#phase = "open"
    this.#failures = 0
    this.#options.onChange(true)
    response.setEncoding("utf8")
    response.setTimeout(MAX_SILENCE_MS, () => response.destroy())
    response.on("data", (text: string) => {
      if (!signal.aborted) this.#take(text, read)
    })
    response.on("error", () => undefined)
    response.on("close", () => {
      if (!signal.aborted) this.#end()
    })
    this.#notify((follower) => follower.opened())
  }

  async #open(): Promise<void> {
    if (this.#phase !== "idle" && this.#phase !== "waiting") return
    const { authorization, origin } = this.#options
    this.#phase = "opening"
    this.#cancelRetry?.()
    this.#abort = new AbortController()
    const { signal } = this.#abort
    try {
      const headers = { accept: EVENT_STREAM, authorization }
      const response = await origin.send({ method: "GET", path: PATH, headers, timeoutMs: OPENING_MS, signal })
      const isStream = headerOf(response, "content-type")?.startsWith(EVENT_STREAM) === true
      if (response.statusCode === 200 && isStream) this.#receive(response, signal)
      else this.#end(await failureOf(response))
    } catch (error) {
      this.#end(awayBecause(error))
    }
  }
}

/** Passes what concerns an instance on to its local client, which reads a stream of its own. */
export const forInstance = (listener: StreamListener, concerns: (target: Target) => boolean): Follower => ({
  opened: listener.opened,
  comment: () => listener.text(":\n\n"),
  changed: (target) => {
    if (concerns(target)) listener.text(`data: ${dataOf({ of: "all" })}\n\n`)
  },
  ended: listener.ended,
})
