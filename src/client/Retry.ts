/** Decides which failed requests can be retried, and retries them. */
import { DateTime, Duration, Effect, Random, Result } from "effect"
import { Headers, HttpClient, HttpClientError } from "effect/http"
import type { HttpClientRequest, HttpClientResponse } from "effect/http"
import { IdempotencyKeyInFlight } from "../kernel/contract/Problem.ts"

/** Whether a retry may succeed, and the delay that the service requested. */
export interface RetryAdvice {
  readonly retry: boolean
  /** Milliseconds; absent if the response has no `Retry-After`, or a date that has passed. */
  readonly afterMs?: number
}

const INITIAL_DELAY_MS = 200
const MAX_DELAY_MS = 30_000

/** The delay of a `Retry-After`; `undefined` if it says nothing, or a date that has passed. */
const retryAfterMs = (
  { date = "", "retry-after": header = "" }: Readonly<Record<string, string | undefined>>,
  now: number,
): number | undefined => {
  const parsed = Headers.parseRetryAfter(header)
  if (Result.isFailure(parsed)) return undefined
  // A date counts from when the response was sent, because the clocks of both machines may differ.
  const sent = Result.match(Headers.parseHttpDate(date), { onFailure: () => now, onSuccess: DateTime.toEpochMillis })
  const delay = Duration.toMillis(Headers.retryAfterDelay(parsed.success, sent))
  return delay === 0 && parsed.success._tag === "DateTime" ? undefined : delay
}

/**
 * Whether a request has the same effect if it is sent twice: any method but POST, or a POST with an `Idempotency-Key`.
 */
const isIdempotent = (request: HttpClientRequest.HttpClientRequest): boolean =>
  request.method !== "POST" || request.headers["idempotency-key"] !== undefined

/** Statuses of a service that cannot answer now, or of a gateway in front of it. */
const UNAVAILABLE: ReadonlyArray<number> = [502, 503, 504]

// A 429 is returned before any work is done. After the others, the change may have been committed without a response.
const adviceFor = (response: HttpClientResponse.HttpClientResponse): RetryAdvice => {
  const retry = response.status === 429 || (UNAVAILABLE.includes(response.status) && isIdempotent(response.request))
  const afterMs = retryAfterMs(response.headers, Date.now())
  return { retry, ...(afterMs === undefined ? {} : { afterMs }) }
}

/**
 * Advises whether to retry after an error of a client method. Retry if the service was unavailable, limited the rate,
 * or still processes the first request with this `Idempotency-Key`. Do not retry any other response, nor a POST without
 * a key: it may have been executed.
 */
export const retryAdvice = (error: unknown): RetryAdvice => {
  if (error instanceof IdempotencyKeyInFlight) return { retry: true }
  if (!HttpClientError.isHttpClientError(error)) return { retry: false }
  if (error.reason._tag === "TransportError") return { retry: isIdempotent(error.reason.request) }
  return "response" in error.reason ? adviceFor(error.reason.response) : { retry: false }
}

/**
 * Retries requests after 429; after 502, 503, 504 and broken connections, it retries only idempotent ones. It waits as long as
 * `Retry-After` says, otherwise with exponential backoff and jitter.
 */
export const retrying =
  (times: number) =>
  (client: HttpClient.HttpClient): HttpClient.HttpClient =>
    HttpClient.transform(client, (send) => {
      const attempt = (
        left: number,
        delayMs: number,
      ): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> => {
        const retryAfter = (advice: RetryAdvice) =>
          Effect.flatMap(Random.next, (jitter) =>
            Effect.andThen(
              Effect.sleep(advice.afterMs ?? delayMs * (0.5 + jitter)),
              attempt(left - 1, Math.min(delayMs * 2, MAX_DELAY_MS)),
            ),
          )
        return Effect.matchEffect(send, {
          onFailure: (error) => {
            const advice = retryAdvice(error)
            return left > 0 && advice.retry ? retryAfter(advice) : Effect.fail(error)
          },
          onSuccess: (response) => {
            const advice = adviceFor(response)
            const isSoon = (advice.afterMs ?? 0) <= MAX_DELAY_MS
            return left > 0 && advice.retry && isSoon ? retryAfter(advice) : Effect.succeed(response)
          },
        })
      }
      return attempt(times, INITIAL_DELAY_MS)
    })
