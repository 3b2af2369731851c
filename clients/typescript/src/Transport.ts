/** Sends a request, repeats it where that is safe, and reads the response. */
import type { CallOptions, ClientOptions } from "./Client.ts"
import { ConnectionError, ProblemError } from "./Errors.ts"

/** A request of any operation. */
export interface RawRequest extends CallOptions {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

const DEFAULT_RETRIES = 2
const DEFAULT_TIMEOUT_MS = 30_000
const INITIAL_DELAY_MS = 200
/** A longer `Retry-After` is left to the caller. */
const MAX_DELAY_MS = 30_000

const textOf = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value))

const urlOf = ({ baseUrl }: ClientOptions, template: string, { path = {}, query = {} }: RawRequest): string => {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name]
    if (value === undefined || value === "") throw new TypeError(`The path needs "${name}"`)
    return encodeURIComponent(textOf(value))
  })
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) parameters.append(name, textOf(one))
    }
  }
  const search = parameters.size === 0 ? "" : `?${parameters}`
  return `${String(baseUrl).replace(/\/+$/, "")}${filled}${search}`
}

const retryAfterMs = (response: Response): number | undefined => {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  return seconds >= 0 ? seconds * 1000 : undefined
}

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

const read = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  if (text === "") return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

interface Exchange {
  readonly response: Response
  readonly body: unknown
}

const exchange = async (
  options: ClientOptions,
  method: string,
  url: string,
  credential: string,
  request: RawRequest,
): Promise<Exchange> => {
  const { fetch = globalThis.fetch } = options
  const timeout = AbortSignal.timeout(request.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  const response = await fetch(url, {
    method,
    headers: {
      accept: "application/json",
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      ...(request.idempotencyKey === undefined ? {} : { "idempotency-key": request.idempotencyKey }),
      ...request.headers,
      authorization: `Bearer ${credential}`,
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    // The service never redirects, and a credential must not follow the redirect of something else.
    redirect: "error",
    signal: request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]),
  })
  return { response, body: await read(response) }
}

/**
 * Sends a request and returns the body of its success. Repeats it after 429, and after 503 or without a response if it has the
 * same effect when it is sent twice: any method but POST, or a POST with an idempotency key.
 */
export const send = async (options: ClientOptions, target: string, request: RawRequest): Promise<unknown> => {
  const [method = "GET", template = "/"] = target.split(" ")
  const url = urlOf(options, template, request)
  const isIdempotent = method !== "POST" || request.idempotencyKey !== undefined
  const attempts = 1 + (options.retries ?? DEFAULT_RETRIES)
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === attempts
    const credential = typeof options.token === "string" ? options.token : await options.token()
    let delay = Math.min(INITIAL_DELAY_MS * 2 ** (attempt - 1) * (0.5 + Math.random()), MAX_DELAY_MS)
    const outcome = await exchange(options, method, url, credential, request).catch((error: unknown) => ({ error }))
    if ("error" in outcome) {
      if (request.signal?.aborted === true) throw outcome.error
      if (isLast || !isIdempotent) throw new ConnectionError(new URL(url).origin, outcome.error)
    } else {
      const { body, response } = outcome
      request.onResponse?.(response)
      if (response.ok || response.status === 304) return body
      delay = retryAfterMs(response) ?? delay
      const mayRetry = response.status === 429 || (response.status === 503 && isIdempotent)
      if (isLast || !mayRetry || delay > MAX_DELAY_MS) throw new ProblemError(response.status, body)
    }
    await pause(delay, request.signal)
  }
}
