/**
 * Ends attempts: history, queue and the endpoint's health in one statement, many attempts at a time. Every change of the
 * queue is fenced by the attempt's lease.
 */
import { Cause, Context, Deferred, Effect, Layer, Queue, Schedule } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import type { AttemptRow, Health } from "./AttemptsRepo.ts"
import { Disabling } from "./EndpointDisabler.ts"
import * as metrics from "../Metrics.ts"
import { Partitions } from "../history/Partitions.ts"
import type { ClaimedRow } from "../queue/QueueRepo.ts"
import { nextAttemptAt } from "./RetrySchedule.ts"
import { isSuccess } from "./Sender.ts"
import type { AttemptOutcome } from "./Sender.ts"

/** An attempt that has ended. */
export interface EndedAttempt {
  readonly claim: ClaimedRow
  readonly url: string
  readonly outcome: AttemptOutcome
  readonly startedAt: Date
  readonly endedAt: Date
  readonly durationMs: number
}

const MOST_PER_COMMIT = 64

/** When the delivery is tried again: never after a success, its last attempt, or the loss of its event. */
export const nextOf = ({ claim, endedAt, outcome }: EndedAttempt): Date | null =>
  isSuccess(outcome) || outcome.fault?.code === "event_gone" ? null : nextAttemptAt(claim.attempt, endedAt)

/** Whether anything was sent. */
const wasMade = ({ fault }: AttemptOutcome): boolean => fault?.code !== "abandoned" && fault?.code !== "event_gone"

const stateOf = (ended: EndedAttempt, held: boolean): AttemptRow["state"] =>
  isSuccess(ended.outcome) ? "Success" : held && nextOf(ended) === null ? "Failed" : "Failure"

/**
 * The history's entry of an attempt. One that ended after its lease was lost did happen, so it is told; but it decided
 * nothing, so no other attempt follows from it.
 */
export const entryOf = (ended: EndedAttempt, held: boolean): AttemptRow => {
  const { claim, outcome } = ended
  return {
    organizationId: claim.organizationId,
    timestamp: ended.startedAt,
    id: claim.lease,
    deliveryId: claim.id,
    eventId: claim.eventId,
    eventName: claim.eventName,
    endpointId: claim.endpointId,
    endpointUrl: ended.url,
    attempt: claim.attempt,
    state: stateOf(ended, held),
    statusCode: outcome.statusCode,
    responseBody: outcome.responseBody,
    error: outcome.fault === null ? null : `${outcome.fault.code}: ${outcome.fault.message}`,
    durationMs: ended.durationMs,
    nextAttemptAt: held ? nextOf(ended) : null,
    wasMade: wasMade(outcome),
  }
}

/** What attempts say about their endpoints, in the order in which they ended. */
export const healthOf = (ended: ReadonlyArray<EndedAttempt>): ReadonlyArray<Health> => {
  const byEndpoint = new Map<string, Health>()
  for (const { claim, endedAt, outcome } of ended.toSorted((a, b) => a.endedAt.getTime() - b.endedAt.getTime())) {
    // Nothing was sent, so nothing is known.
    if (!wasMade(outcome)) continue
    const { endpointId, organizationId } = claim
    const key = `${organizationId}/${endpointId}`
    const before = byEndpoint.get(key)
    byEndpoint.set(
      key,
      isSuccess(outcome)
        ? { organizationId, endpointId, succeeded: true, failingSince: null }
        : {
            organizationId,
            endpointId,
            succeeded: before?.succeeded ?? false,
            failingSince: before?.failingSince ?? endedAt,
          },
    )
  }
  return [...byEndpoint.values()]
}

const isMissingPartition = (error: unknown): boolean =>
  isSqlError(error) &&
  error.reason._tag === "ConstraintError" &&
  /no partition of relation/.test(String(error.reason.cause))

// The database or its client refuses these very rows, and will refuse them again. Everything else is the database's own trouble.
const isRefusal = (error: unknown): boolean =>
  !isSqlError(error) ||
  ["ConstraintError", "UniqueViolation", "SqlSyntaxError"].includes(error.reason._tag) ||
  /\b22[0-9A-Z]{3}\b|invalid|out of range|PgTypesCodecError/.test(String(error.reason.cause))

const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")])

/** Ends attempts. */
export class Attempts extends Context.Service<
  Attempts,
  {
    /** Returns when the attempt's end is committed. While the database is away it waits. */
    readonly finish: (ended: EndedAttempt) => Effect.Effect<void>
  }
>()("keyshelf/webhooks/Attempts") {
  static readonly layer = Layer.effect(
    Attempts,
    Effect.gen(function* () {
      const attempts = yield* AttemptsRepo
      const partitions = yield* Partitions
      const disabling = yield* Disabling

      const committed = (ended: ReadonlyArray<EndedAttempt>, healths: ReadonlyArray<Health>) =>
        Effect.suspend(() =>
          attempts.end(
            ended.map((one) => entryOf(one, true)),
            healths,
          ),
        ).pipe(
          Effect.catchDefect((defect) => Effect.fail(defect)),
          Effect.tapError((error) =>
            isMissingPartition(error)
              ? Effect.catchDefect(partitions.ensure(ended.map(({ startedAt }) => startedAt)), Effect.fail)
              : Effect.void,
          ),
          Effect.retry({ while: isMissingPartition, times: 2 }),
          Effect.retry({ schedule: backOff, while: (error) => !isRefusal(error) }),
        )

      const count = Effect.fnUntraced(function* (ended: ReadonlyArray<EndedAttempt>, held: ReadonlySet<string>) {
        const context = yield* Effect.context()
        for (const one of ended) {
          const state = stateOf(one, held.has(one.claim.lease))
          metrics.attempts[state].updateUnsafe(1, context)
          metrics.duration[state].updateUnsafe(one.durationMs / 1000, context)
          if (!held.has(one.claim.lease)) metrics.leaseLost.updateUnsafe(1, context)
          if (one.outcome.fault?.code === "abandoned") metrics.abandoned.updateUnsafe(1, context)
          if (one.outcome.fault?.code === "not_allowed") metrics.denied.updateUnsafe(1, context)
        }
      })

      // One that the database refuses must not hold up the others: each is then tried alone, and the refused one is left
      // to its lease, which makes it another claim and at last an abandoned attempt.
      const end = (ended: ReadonlyArray<EndedAttempt>): Effect.Effect<void> => {
        const healths = healthOf(ended)
        return committed(ended, healths).pipe(
          Effect.flatMap((held) => count(ended, held)),
          Effect.andThen(
            disabling.consider(
              healths.filter(({ failingSince }) => failingSince !== null),
              new Date(Math.max(...ended.map(({ endedAt }) => endedAt.getTime()))),
            ),
          ),
          Effect.catchCause((cause) =>
            ended.length > 1
              ? Effect.forEach(ended, (one) => end([one]), { discard: true })
              : Effect.logError(
                  "An attempt's end could not be stored; its delivery is made again",
                  Cause.squash(cause),
                ),
          ),
        )
      }

      const ends = yield* Queue.unbounded<{
        readonly ended: EndedAttempt
        readonly done: Deferred.Deferred<void>
      }>()
      // While a group commits, the next one gathers.
      const commitNext = Effect.gen(function* () {
        const group = yield* Queue.takeBetween(ends, 1, MOST_PER_COMMIT)
        yield* end(group.map(({ ended }) => ended))
        for (const { done } of group) yield* Deferred.succeed(done, undefined)
      })
      yield* Effect.forkScoped(Effect.forever(commitNext))

      return Attempts.of({
        finish: Effect.fnUntraced(function* (ended) {
          const done = yield* Deferred.make<void>()
          yield* Queue.offer(ends, { ended, done })
          yield* Deferred.await(done)
        }),
      })
    }),
  )
}
