/** A part of the role `sweeper`: emits the events about the ends of licenses within a second of their time. */
import { Effect, Layer, Option, Schedule } from "effect"
import { registerHealth } from "../../../kernel/ports/HealthChecks.ts"
import type { PartState } from "../../../kernel/ports/HealthChecks.ts"
import { TERM_BATCH, TermNotices } from "./Service.ts"

const reason = "The last look for ended licenses failed"

/** Emits until the process ends, even through database outages. `GET /health/ready` reports the last look. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { applyLeads, emitDue } = yield* TermNotices
    let state: PartState = { status: "up" }
    yield* registerHealth(
      "termNotices",
      Effect.sync(() => state),
    )
    const attempt = <A>(work: Effect.Effect<A>) =>
      work.pipe(
        Effect.tap(() => Effect.sync(() => (state = { status: "up" }))),
        Effect.asSome,
        Effect.catchCause((cause) => {
          const isFirst = state.status === "up"
          state = { status: "down", reason }
          return Effect.as(
            isFirst ? Effect.logWarning(`${reason}; the service retries every second`, cause) : Effect.void,
            Option.none<A>(),
          )
        }),
      )
    const pass = Effect.repeat(attempt(emitDue), { while: (done) => Option.contains(done, TERM_BATCH) })
    const looks = Effect.repeat(pass, Schedule.spaced("1 second"))
    const leadsApplied = Effect.repeat(attempt(applyLeads), {
      while: Option.isNone,
      schedule: Schedule.spaced("1 second"),
    })
    yield* Effect.forkScoped(Effect.andThen(leadsApplied, looks))
  }),
)
