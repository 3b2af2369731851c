/** Sends a request, repeats it where that is safe, and reads the response. */
import type { CallOptions, ClientOptions } from "./Client.ts"
import { ConnectionError, ProblemError } from "./Errors.ts"
import { headersOf, jsonOf, keyOf, queryTextOf, segmentOf } from "./RequestRules.ts"
import { codeOf, isJson, isResult, JSON_BODY } from "./Responses.ts"
import type { ResponseHead } from "./Responses.ts"
import { delayBeforeRetry, httpDateMillis } from "./Retry.ts"
import { durationOf, MAX_TIMER_MS, settingsOf } from "./Settings.ts"
import type { Settings } from "./Settings.ts"

/** A request of any operation. */
export interface RawRequest extends CallOptions {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** A request as it is sent. */
export interface TextRequest extends CallOptions {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly body?: string | undefined
  /** Whether it has the same effect if it is sent twice. Default: any method but POST, and a POST with an idempotency key. */
  readonly isIdempotent?: boolean
  /** The results that the operation promises: media types, or `NO_BODY`. Default: JSON. */
  readonly promised?: ReadonlyArray<string>
}

/** A result of the service, or 304. */
export interface TextResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The maximum size of a response. A page without an end must not fill the memory. */
const MAX_BYTES = 64 * 1024 * 1024

const textOf = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value))

const pathOf = (template: string, { path = {}, query = {} }: RawRequest): string => {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name]
    if (value === undefined || value === null || value === "") throw new TypeError(`The path needs "${name}"`)
    return segmentOf(`"${name}" of the path`, textOf(value))
  })
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) parameters.append(queryTextOf(name, name), queryTextOf(name, textOf(one)))
    }
  }
  return parameters.size === 0 ? filled : `${filled}?${parameters}`
}

/** Waits. A signal ends the wait with its reason. */
const pause = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, millis)
    if (signal?.aborted === true) stop()
    else signal?.addEventListener("abort", stop, { once: true })
  })

const readText = async (response: Response): Promise<string> => {
  const reader = response.body?.getReader()
  // Some runtimes have no streams.
  if (reader === undefined) return response.text()
  const decoder = new TextDecoder()
  let text = ""
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.length
    if (size > MAX_BYTES) {
      await reader.cancel()
      throw new TypeError(`a response of more than ${MAX_BYTES} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** The JSON of a body, or its text if it is none. */
export const jsonOrText = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A complete request without its credential. Throws if the request is wrong, so that nothing else throws while it is sent. */
const initOf = ({ body, headers = {}, idempotencyKey, method }: TextRequest) => {
  if (body !== undefined && method === "GET") throw new TypeError("A GET has no body")
  return {
    method,
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": keyOf(idempotencyKey) }),
      ...headersOf(headers),
    },
    ...(body === undefined ? {} : { body }),
    // The service never redirects, and a credential must not follow a redirect of another server. Workers do not support "error".
    redirect: "manual" as const,
  }
}

const signalOf = (signal: AbortSignal | undefined, timeoutMs: number): AbortSignal => {
  const timeout = AbortSignal.timeout(Math.min(Math.max(0, Math.ceil(timeoutMs)), MAX_TIMER_MS))
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout])
}

const exchange = async (fetch: typeof globalThis.fetch, url: string, init: RequestInit) => {
  const response = await fetch(url, init)
  // Browsers hide a redirect from scripts.
  if (response.type === "opaqueredirect") throw new TypeError("a redirect, which the client does not follow")
  const text = await readText(response)
  return { status: response.status, headers: response.headers, text, response }
}

const headOf = ({ headers, status }: TextResponse): ResponseHead => ({
  status,
  contentType: headers.get("content-type"),
})

/** Whether a response is a result that its operation promises, or says that a cached one has not changed. */
const isAnswer = (response: TextResponse, { headers = {}, promised = [JSON_BODY] }: TextRequest): boolean =>
  response.status === 304
    ? Object.keys(headers).some((name) => name.toLowerCase() === "if-none-match")
    : isResult(headOf(response), promised)

/** The failure of an attempt, and what a retry depends on. */
const failureOf = (origin: string, { path }: TextRequest, outcome: TextResponse | { readonly error: unknown }) => {
  const now = Date.now()
  if ("error" in outcome) {
    const { error } = outcome
    const reason = error instanceof Error ? error.message : String(error)
    const failure = new ConnectionError(`${origin} did not respond: ${reason}`, { cause: error })
    return { error: failure, status: null, code: null, retryAfter: null, now }
  }
  const { headers, status } = outcome
  const body = jsonOrText(outcome.text)
  const code = codeOf(headOf(outcome), path, body)
  const error =
    status < 300 || status === 304
      ? new ConnectionError(`${origin} responded with status ${status}, but not with a result of the service`)
      : new ProblemError(status, body, code)
  // The clocks of both machines may differ.
  const sent = httpDateMillis(headers.get("date") ?? "") ?? now
  return { error, status, code, retryAfter: headers.get("retry-after"), now: sent }
}

/**
 * Sends a request and returns its result. Fails with a `ProblemError`, a `ConnectionError`, or the signal's reason; before anything is
 * sent with a `ConfigurationError`, or with another `TypeError` for a fault of the request.
 */
export const sendText = async (options: ClientOptions | Settings, request: TextRequest): Promise<TextResponse> => {
  const settings = settingsOf(options)
  const { base, deadlineMs, fetch, retries } = settings
  const timeoutMs = request.timeoutMs === undefined ? settings.timeoutMs : durationOf("timeoutMs", request.timeoutMs)
  const init = initOf(request)
  const isIdempotent = request.isIdempotent ?? (request.method !== "POST" || request.idempotencyKey !== undefined)
  const ends = performance.now() + deadlineMs
  for (let attempt = 1; ; attempt++) {
    const headers = { ...init.headers, authorization: `Bearer ${await settings.credential()}` }
    const signal = signalOf(request.signal, Math.min(timeoutMs, ends - performance.now()))
    const outcome = await exchange(fetch, base + request.path, { ...init, headers, signal }).catch(
      (error: unknown) => ({ error }),
    )
    // An error of the caller's function is not a failure of the service.
    if (!("error" in outcome)) request.onResponse?.(outcome.response)
    if ("error" in outcome) {
      if (request.signal?.aborted === true) throw outcome.error
    } else if (isAnswer(outcome, request)) return outcome
    const { error, ...answer } = failureOf(new URL(base).origin, request, outcome)
    const delay = delayBeforeRetry({ attempt, retries, isIdempotent, ...answer, random: Math.random() })
    if (delay === undefined || performance.now() + delay >= ends) throw error
    await pause(delay, request.signal)
  }
}

/**
 * Sends a request of an operation, and returns the body of its result. The operation is a method, a path, and what it promises
 * unless that is JSON: `DELETE /api/customers/{customerSlug} none`.
 */
export const send = async (
  options: ClientOptions | Settings,
  target: string,
  request: RawRequest,
): Promise<unknown> => {
  const [method = "GET", template = "/", promised = JSON_BODY] = target.split(" ")
  const { body, path: _path, query: _query, ...call } = request
  const response = await sendText(options, {
    ...call,
    method,
    path: pathOf(template, request),
    body: body === undefined ? undefined : jsonOf(body),
    promised: promised.split("|"),
  })
  if (response.status === 204 || response.status === 304) return undefined
  if (!isJson(headOf(response))) return response.text
  try {
    return JSON.parse(response.text)
  } catch (error) {
    throw new ConnectionError("The response is not JSON, so it is not of the service", { cause: error })
  }
}
