/** A client that repeats one request during a fault, and its log of the responses. */
import { Effect } from "effect"
import { clock } from "./Installation.ts"
import type { Violation } from "./Checker.ts"

const TIMEOUT_MILLIS = 40_000

/** One request with its response. Times are milliseconds. */
interface ProbeResponse {
  readonly at: number
  readonly millis: number
  /** `null` if there was no response. */
  readonly status: number | null
  readonly retryAfter: string | null
  readonly type: string | null
}

/** Builds a request. The number distinguishes it from other requests. */
type ProbeRequest = (number: number) => readonly [method: string, url: string, token: string, body?: object]

/** A running probe. */
interface Probe {
  readonly responses: ReadonlyArray<ProbeResponse>
  /** Stops sending and waits for all responses. */
  readonly stop: Effect.Effect<void>
}

const send = async ([method, url, token, body]: ReturnType<ProbeRequest>): Promise<ProbeResponse> => {
  const at = clock()
  const none = { status: null, retryAfter: null, type: null }
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MILLIS),
  }).then(
    async (response) => {
      await response.text()
      const { headers, status } = response
      return { status, retryAfter: headers.get("retry-after"), type: headers.get("content-type") }
    },
    () => none,
  )
  return { ...response, at, millis: clock() - at }
}

/** Sends requests at a constant rate without waiting for responses, until stopped or the scope closes. */
export const probe = Effect.fnUntraced(function* (question: ProbeRequest, everyMillis: number) {
  const responses: Array<ProbeResponse> = []
  const waiting = new Set<Promise<void>>()
  let number = 0
  const timer = setInterval(() => {
    const pending = send(question(number++)).then((response) => void responses.push(response))
    waiting.add(pending)
    void pending.finally(() => waiting.delete(pending))
  }, everyMillis)
  yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))
  const running: Probe = {
    responses,
    stop: Effect.promise(async () => {
      clearInterval(timer)
      await Promise.all(waiting)
    }),
  }
  return running
})

/** Selects the requests that were sent within a period. */
export const between = ({ responses }: Probe, from: number, to: number): ReadonlyArray<ProbeResponse> =>
  responses.filter(({ at }) => at >= from && at < to)

/** Summarizes responses: the count of each status and the longest duration. */
export const summarize = (responses: ReadonlyArray<ProbeResponse>): string => {
  const counts = [...Map.groupBy(responses, ({ status }) => status ?? "none")]
    .map(([status, same]) => `${same.length} x ${status}`)
    .join(" ")
  return `${counts} within ${Math.round(Math.max(0, ...responses.map(({ millis }) => millis)))} ms`
}

/**
 * Returns violations for responses that exceed the time limit, or are neither a success nor a 503 problem with
 * `Retry-After`.
 */
export const misbehaviour = (
  what: string,
  responses: ReadonlyArray<ProbeResponse>,
  limitMillis: number,
): ReadonlyArray<Violation> =>
  responses
    .filter(({ millis, retryAfter, status, type }) => {
      const isAcceptable =
        status !== null &&
        (status < 300 || (status === 503 && retryAfter !== null && type?.startsWith("application/problem+json")))
      return !isAcceptable || millis > limitMillis
    })
    .map(({ millis, retryAfter, status }) => ({
      invariant: "I10",
      detail: `${what} got ${status ?? "no response"}${status === 503 && retryAfter === null ? " without Retry-After" : ""} after ${Math.round(millis)} ms`,
    }))
