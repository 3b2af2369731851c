/**
 * The background work of a role, without requests: it looks for work every second, and continues as long as it finds
 * some.
 */
import { Effect, Option, Schedule } from "effect"
import type { Scope } from "effect"
import { registerHealth } from "../ports/HealthChecks.ts"
import type { PartState } from "../ports/HealthChecks.ts"

/** What is done in the background. */
interface BackgroundWork {
  /** Its name in `GET /health/ready`. */
  readonly name: string
  /** What the health part and the log say if a step fails. */
  readonly failure: string
  /** Done once, and again every second until it succeeds. */
  readonly prepare?: Effect.Effect<void>
  /** Does some of the work. Returns whether there may be more. */
  readonly step: Effect.Effect<boolean>
}

/** Works until the scope ends, even through database outages. */
export const workInBackground = Effect.fnUntraced(function* ({
  failure,
  name,
  prepare,
  step,
}: BackgroundWork): Effect.fn.Return<void, never, Scope.Scope> {
  let state: PartState = { status: "up" }
  yield* registerHealth(
    name,
    Effect.sync(() => state),
  )
  const attempt = <A>(work: Effect.Effect<A>) =>
    work.pipe(
      Effect.tap(() => Effect.sync(() => (state = { status: "up" }))),
      Effect.asSome,
      Effect.catchCause((cause) => {
        const isFirst = state.status === "up"
        state = { status: "down", reason: failure }
        return Effect.as(
          isFirst ? Effect.logWarning(`${failure}; the service retries every second`, cause) : Effect.void,
          Option.none<A>(),
        )
      }),
    )
  const everySecond = Schedule.spaced("1 second")
  const pass = Effect.repeat(attempt(step), { while: (done) => Option.contains(done, true) })
  const prepared =
    prepare === undefined
      ? Effect.void
      : Effect.repeat(attempt(prepare), { while: Option.isNone, schedule: everySecond })
  yield* Effect.forkScoped(Effect.andThen(prepared, Effect.repeat(pass, everySecond)))
})
