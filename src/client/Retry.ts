/** When it makes sense to send a request again. */
import { Effect, Option, Random } from "effect"
import { HttpClient, HttpClientError } from "effect/http"
import type { HttpClientRequest, HttpClientResponse } from "effect/http"
import { IdempotencyKeyInFlight } from "../kernel/contract/Problem.ts"

/** Whether the same request may succeed later, and how long the service asked to wait. */
export interface RetryAdvice {
  readonly retry: boolean
  /** Milliseconds; absent where the service named none. */
  readonly afterMs?: number
}

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 30_000

const askedPause = (headers: Readonly<Record<string, string | undefined>>): Option.Option<number> => {
  const seconds = Number(headers["retry-after"])
  return Number.isFinite(seconds) && seconds >= 0 ? Option.some(seconds * 1000) : Option.none()
}

/** A request that has one effect however often it is sent: no POST, or one with an `Idempotency-Key`. */
const isRepeatable = (request: HttpClientRequest.HttpClientRequest): boolean =>
  request.method !== "POST" || request.headers["idempotency-key"] !== undefined

// 429 is said before anything is done; at 503 the change may be in although its answer was lost.
const adviceFor = (response: HttpClientResponse.HttpClientResponse): RetryAdvice => {
  const retry = response.status === 429 || (response.status === 503 && isRepeatable(response.request))
  return {
    retry,
    ...Option.match(askedPause(response.headers), { onNone: () => ({}), onSome: (afterMs) => ({ afterMs }) }),
  }
}

/**
 * Whether to try again after an error of a client method: yes where the service was away, slowed the caller down, or still
 * ran the first request under this `Idempotency-Key`; no where it decided. A POST without a key may have been done.
 */
export const retryAdvice = (error: unknown): RetryAdvice => {
  if (error instanceof IdempotencyKeyInFlight) return { retry: true }
  if (!HttpClientError.isHttpClientError(error)) return { retry: false }
  if (error.reason._tag === "TransportError") return { retry: isRepeatable(error.reason.request) }
  return "response" in error.reason ? adviceFor(error.reason.response) : { retry: false }
}

/**
 * Sends requests again that may succeed later: after 429 and 503, and, if they are repeatable, after a broken connection. It
 * waits as long as `Retry-After` says, else twice as long each time, with jitter.
 */
export const retrying =
  (times: number) =>
  (client: HttpClient.HttpClient): HttpClient.HttpClient =>
    HttpClient.transform(client, (send) => {
      const attempt = (
        left: number,
        pauseMs: number,
      ): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> => {
        const again = (advice: RetryAdvice) =>
          Effect.flatMap(Random.next, (jitter) =>
            Effect.andThen(
              Effect.sleep(advice.afterMs ?? pauseMs * (0.5 + jitter)),
              attempt(left - 1, Math.min(pauseMs * 2, LONGEST_PAUSE_MS)),
            ),
          )
        return Effect.matchEffect(send, {
          onFailure: (error) => {
            const advice = retryAdvice(error)
            return left > 0 && advice.retry ? again(advice) : Effect.fail(error)
          },
          onSuccess: (response) => {
            const advice = adviceFor(response)
            const patient = (advice.afterMs ?? 0) <= LONGEST_PAUSE_MS
            return left > 0 && advice.retry && patient ? again(advice) : Effect.succeed(response)
          },
        })
      }
      return attempt(times, FIRST_PAUSE_MS)
    })
