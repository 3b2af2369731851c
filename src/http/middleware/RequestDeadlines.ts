/**
 * Tracks the requests in flight, and interrupts those that take too long. All requests share one timer, because a timer
 * per request would slow down every request.
 */
import { Effect, Layer } from "effect"
import type { Fiber } from "effect"
import { inFlight } from "../../infra/telemetry/Metrics.ts"
import { observedGauge } from "../../infra/telemetry/ProcessMetrics.ts"

/** A request in flight. */
interface InFlight {
  readonly startedAt: number
  readonly fiber: Fiber.Fiber<unknown, unknown>
  /** Whether it was interrupted for taking too long. */
  expired: boolean
  /** Its slot in the list of requests. */
  readonly slot: number
}

/** Maximum duration of a request: longer than the statement timeout (30 s), with room for waiting for a connection. */
const LIMIT_MS = 60_000

// An array with reused slots instead of a set. When V8 rehashes a long-lived set, the old table still references its
// entries and the new table, so that finished requests would stay in memory.
const requests: Array<InFlight | undefined> = []
const freeSlots: Array<number> = []

/** Registers a request. */
export const enter = (fiber: Fiber.Fiber<unknown, unknown>): InFlight => {
  const place = freeSlots.pop() ?? requests.length
  const request: InFlight = { startedAt: performance.now(), fiber, expired: false, slot: place }
  requests[place] = request
  return request
}

/**
 * Removes a request once its response is ready, and returns its duration in seconds. Streaming the response is not
 * limited.
 */
export const leave = (request: InFlight): number => {
  if (requests[request.slot] === request) {
    requests[request.slot] = undefined
    freeSlots.push(request.slot)
  }
  return (performance.now() - request.startedAt) / 1000
}

/**
 * Interrupts requests that began before a time of the monotonic clock. The interruption rolls back their transactions.
 */
export const expire = (before: number): void => {
  for (const request of requests) {
    if (request === undefined || request.expired || request.startedAt >= before) continue
    request.expired = true
    request.fiber.interruptUnsafe()
  }
}

/** Registers the gauge and expires requests every second. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* observedGauge(inFlight, () => requests.length - freeSlots.length)
    yield* Effect.sync(() => expire(performance.now() - LIMIT_MS)).pipe(
      Effect.delay("1 second"),
      Effect.forever,
      Effect.forkScoped,
    )
  }),
)
