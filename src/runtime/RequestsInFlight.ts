/**
 * The requests that are being answered: how many there are, and which take too long. One set and one timer for all,
 * because a timer per request would cost every request what only a stuck one needs.
 */
import { Effect, Layer } from "effect"
import type { Fiber } from "effect"
import { inFlight } from "./Metrics.ts"
import { observedGauge } from "./ProcessMetrics.ts"

/** A request whose answer is being made. */
export interface InFlight {
  readonly startedAt: number
  readonly fiber: Fiber.Fiber<unknown, unknown>
  /** Whether it was given up for taking too long. */
  expired: boolean
}

/** Longer than any statement that the database is allowed (30 s), with room for one that had to wait for a connection. */
export const LIMIT_MS = 60_000

// In the order of their start, so that the sweep stops at the first one that still has time.
const requests = new Set<InFlight>()

/** A request begins. */
export const enter = (fiber: Fiber.Fiber<unknown, unknown>): InFlight => {
  const request: InFlight = { startedAt: performance.now(), fiber, expired: false }
  requests.add(request)
  return request
}

/** Its answer is made; what is streamed after that may take as long as it likes. Answers the seconds it took. */
export const leave = (request: InFlight): number => {
  requests.delete(request)
  return (performance.now() - request.startedAt) / 1000
}

/** Gives up requests that began before an instant of the monotonic clock: they are interrupted, which rolls back what they did. */
export const expire = (before: number): void => {
  for (const request of requests) {
    if (request.startedAt >= before) return
    if (request.expired) continue
    request.expired = true
    request.fiber.interruptUnsafe()
  }
}

/** Watches the requests of the process. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* observedGauge(inFlight, () => requests.size)
    yield* Effect.sync(() => expire(performance.now() - LIMIT_MS)).pipe(
      Effect.delay("1 second"),
      Effect.forever,
      Effect.forkScoped,
    )
  }),
)
