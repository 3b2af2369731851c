/** How a local client reaches the service: by the transport of all calls, but each request once. */
import { systemClock } from "../../../../../src/machine/SystemClock.ts"
import { own } from "../../../../../src/offline/values/Unknown.ts"
import type {
  Failure,
  KeysReply,
  LedgerOptions,
  RefillReply,
  Reply,
  Service,
  StreamListener,
} from "../../../../../src/local/index.ts"
import { ConnectionError, isServiceAway, ProblemError } from "../../Errors.ts"
import { codeOf } from "../../Responses.ts"
import { httpDateMillis } from "../../Retry.ts"
import type { Settings } from "../../Settings.ts"
import { jsonOrText, sendText } from "../../Transport.ts"
import type { TextRequest, TextResponse } from "../../Transport.ts"
import { pathOf } from "../Wire.ts"
import type { OpenStream } from "./Streams.ts"

const TOKEN = "application/jwt"
const EVENTS = "text/event-stream"

/** How long a stream may take to open. */
const MAX_OPENING_MS = 10_000
/** A problem document is shorter. */
const MAX_PROBLEM_LENGTH = 65_536

type Header = (name: string) => string | null

const secondsIn = (text: string | null | undefined, form: RegExp): number | undefined => {
  const [, seconds] = form.exec(text ?? "") ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const retryAfterOf = (header: Header | undefined): { readonly retryAfterMs?: number } => {
  const retryAfterMs = secondsIn(header?.("retry-after"), /^(\d{1,9})$/)
  return retryAfterMs === undefined ? {} : { retryAfterMs }
}

/** What a call failed with. The credential that cannot be read says nothing about the service, and is no outage. */
const failureOf = (error: unknown, header?: Header): Failure => {
  const isAway = isServiceAway(error)
  const code = error instanceof ProblemError && !isAway ? error.code : ""
  return { type: isAway ? "away" : "problem", code, error, ...retryAfterOf(header) }
}

const headOf = (header: Header) => ({
  maxAgeMs: secondsIn(header("cache-control"), /\bmax-age=(\d{1,9})/),
  dateMs: httpDateMillis(header("date") ?? ""),
})

const keysIn = (text: string): KeysReply => {
  const keys: unknown = JSON.parse(text)
  if (Array.isArray(own(keys, "keys"))) return { type: "keys", keys: keys as never }
  throw new ConnectionError("The response is not a key set")
}

/** Sends a request once. Reads the result, or says what it failed with. */
const ask = async <A>(
  settings: Settings,
  request: TextRequest,
  read: (response: TextResponse, header: Header) => A,
): Promise<A | Failure> => {
  let header: Header | undefined
  try {
    const onResponse = ({ headers }: Response) => (header = (name) => headers.get(name))
    const response = await sendText(settings, { ...request, onResponse })
    return read(response, (name) => response.headers.get(name))
  } catch (error) {
    return failureOf(error instanceof SyntaxError ? new ConnectionError(error.message) : error, header)
  }
}

/** Follows one stream of changes: it is open with its first response, or ends with what the service said instead. */
const follow = (
  settings: Settings,
  open: OpenStream,
  path: string,
  { ended, opened, text }: StreamListener,
): (() => void) => {
  let close: (() => void) | undefined
  let isClosed = false
  let head: { readonly status: number; readonly header: Header } | undefined
  let isOpen = false
  let body = ""
  const end = (failure?: Failure) => {
    if (isClosed) return
    stop()
    ended(failure)
  }
  const cancelOpening = systemClock.after(MAX_OPENING_MS, () => {
    if (!isOpen) end(failureOf(new ConnectionError("The stream did not open")))
  })
  const stop = () => {
    isClosed = true
    cancelOpening()
    close?.()
  }
  const start = async () => {
    const headers = { accept: EVENTS, authorization: `Bearer ${await settings.credential()}` }
    if (isClosed) return
    close = open(settings.base + path, headers, {
      response: (status, header) => {
        head = { status, header }
        isOpen = status === 200 && (header("content-type") ?? "").startsWith(EVENTS)
        if (isOpen) opened()
      },
      text: (chunk) => {
        if (isOpen) text(chunk)
        else body = (body + chunk).slice(0, MAX_PROBLEM_LENGTH)
      },
      ended: (error) => {
        if (isOpen) return end()
        if (head === undefined) return end(failureOf(new ConnectionError(String(error), { cause: error })))
        const { header, status } = head
        const problem = jsonOrText(body)
        const code = codeOf({ status, contentType: header("content-type") }, path, problem)
        end(failureOf(new ProblemError(status, problem, code), header))
      },
    })
  }
  start().catch((error: unknown) => end(failureOf(error)))
  return stop
}

/** Makes the service of settings without retries: a local client repeats requests itself. */
export const makeService = (settings: Settings, open: OpenStream): Service => ({
  snapshot: (instance, etag): Promise<Reply> => {
    const headers = { accept: TOKEN, ...(etag === null ? {} : { "if-none-match": etag }) }
    const request = { method: "GET", path: `${pathOf("instances", instance)}/snapshot`, headers, promised: [TOKEN] }
    return ask<Reply>(settings, request, ({ status, text }, header) =>
      status === 304
        ? { type: "unchanged", ...headOf(header) }
        : { type: "snapshot", token: text.trim(), etag: header("etag"), ...headOf(header) },
    )
  },
  keys: (organization) =>
    ask(settings, { method: "GET", path: pathOf("offline", organization, "keys") }, ({ text }) => keysIn(text)),
  changes: (instance, listener) =>
    follow(settings, open, `/api/changes?instance=${encodeURIComponent(instance)}`, listener),
})

/** Makes what refills tranches. */
export const makeRefill =
  (settings: Settings): LedgerOptions["refill"] =>
  (instance, body) => {
    // The service counts each line once.
    const request = { method: "POST", path: `${pathOf("instances", instance)}/tranches`, body, isIdempotent: true }
    return ask<RefillReply>(settings, request, ({ text }, header) => ({
      type: "refilled",
      body: JSON.parse(text) as unknown,
      dateMs: headOf(header).dateMs,
    }))
  }
