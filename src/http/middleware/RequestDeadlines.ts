/**
 * The requests that are being answered: how many there are, and which take too long. One list and one timer for all,
 * because a timer per request would cost every request what only a stuck one needs.
 */
import { Effect, Layer } from "effect"
import type { Fiber } from "effect"
import { inFlight } from "../../infra/telemetry/Metrics.ts"
import { observedGauge } from "../../infra/telemetry/ProcessMetrics.ts"

/** A request whose answer is being made. */
export interface InFlight {
  readonly startedAt: number
  readonly fiber: Fiber.Fiber<unknown, unknown>
  /** Whether it was given up for taking too long. */
  expired: boolean
  /** Where it is kept while its answer is made. */
  readonly place: number
}

/** Longer than any statement that the database is allowed (30 s), with room for one that had to wait for a connection. */
export const LIMIT_MS = 60_000

// Places that are used again, not a set: whenever a set that lives long makes room for what came and went, the table that it
// leaves behind keeps what it held and leads to the next one, so that something of each request would outlive its answer.
const requests: Array<InFlight | undefined> = []
const freePlaces: Array<number> = []

/** A request begins. */
export const enter = (fiber: Fiber.Fiber<unknown, unknown>): InFlight => {
  const place = freePlaces.pop() ?? requests.length
  const request: InFlight = { startedAt: performance.now(), fiber, expired: false, place }
  requests[place] = request
  return request
}

/** Its answer is made; what is streamed after that may take as long as it likes. Answers the seconds it took. */
export const leave = (request: InFlight): number => {
  if (requests[request.place] === request) {
    requests[request.place] = undefined
    freePlaces.push(request.place)
  }
  return (performance.now() - request.startedAt) / 1000
}

/** Gives up requests that began before an instant of the monotonic clock: they are interrupted, which rolls back what they did. */
export const expire = (before: number): void => {
  for (const request of requests) {
    if (request === undefined || request.expired || request.startedAt >= before) continue
    request.expired = true
    request.fiber.interruptUnsafe()
  }
}

/** Watches the requests of the process. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* observedGauge(inFlight, () => requests.length - freePlaces.length)
    yield* Effect.sync(() => expire(performance.now() - LIMIT_MS)).pipe(
      Effect.delay("1 second"),
      Effect.forever,
      Effect.forkScoped,
    )
  }),
)
