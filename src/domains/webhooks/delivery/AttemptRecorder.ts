/**
 * Records the outcomes of attempts: history, queue and the endpoint's health change in one statement, for many attempts
 * at a time. The attempt's lease fences every change of the queue.
 */
import { Cause, Context, Effect, Exit, Layer, Schedule } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { makeGroupCommit } from "../../../kernel/concurrency/GroupCommit.ts"
import { Partitions } from "../history/Partitions.ts"
import * as metrics from "../Metrics.ts"
import { endpointName } from "../Model.ts"
import type { ClaimedRow } from "../queue/QueueRepo.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import { EndpointDisabler } from "./EndpointDisabler.ts"
import type { AttemptRow, EndpointHealth } from "./OutcomeSql.ts"
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

// Limits the time of one commit, and with it the wait of the next one.
const MAX_ATTEMPTS_PER_COMMIT = 64

/**
 * When the next attempt is due; `null` after a success, after the last attempt, and if the event is no longer stored.
 */
export const nextAttemptDueAt = ({ claim, endedAt, outcome }: EndedAttempt): Date | null =>
  isSuccess(outcome) || outcome.error?.code === "event_gone" ? null : nextAttemptAt(claim.attempt, endedAt)

// These say nothing about the endpoint.
const UNSENT = new Set<string | undefined>(["abandoned", "event_gone", "resources"])
const wasSent = ({ error }: AttemptOutcome): boolean => !UNSENT.has(error?.code)

const stateOf = (ended: EndedAttempt, isLeaseValid: boolean): AttemptRow["state"] =>
  isSuccess(ended.outcome) ? "Success" : isLeaseValid && nextAttemptDueAt(ended) === null ? "Failed" : "Failure"

/**
 * The row of an attempt. An attempt whose lease was lost is recorded, because it did happen, but no attempt follows
 * from it.
 */
export const attemptRowOf = (ended: EndedAttempt, isLeaseValid: boolean): AttemptRow => {
  const { claim, outcome } = ended
  return {
    location: claim.location,
    organizationId: claim.organizationId,
    timestamp: ended.startedAt,
    id: claim.lease,
    deliveryId: claim.id,
    eventId: claim.eventId,
    eventName: claim.eventName,
    endpointId: claim.endpointId,
    endpointUrl: ended.url,
    attempt: claim.attempt,
    state: stateOf(ended, isLeaseValid),
    statusCode: outcome.statusCode,
    responseBody: outcome.responseBody,
    error: outcome.error === null ? null : `${outcome.error.code}: ${outcome.error.message}`,
    durationMs: ended.durationMs,
    nextAttemptAt: isLeaseValid ? nextAttemptDueAt(ended) : null,
    wasSent: wasSent(outcome),
  }
}

/** The health of endpoints after these attempts. Unsent attempts do not count. */
export const endpointHealthOf = (ended: ReadonlyArray<EndedAttempt>): ReadonlyArray<EndpointHealth> => {
  const byEndpoint = new Map<string, EndpointHealth>()
  for (const { claim, endedAt, outcome } of ended.toSorted((a, b) => a.endedAt.getTime() - b.endedAt.getTime())) {
    if (!wasSent(outcome)) continue
    const { endpointId, organizationId } = claim
    const key = endpointName(claim)
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

// Whether the database or its client rejects these very rows, and would reject them again. All other errors are
// transient.
const isRejection = (error: unknown): boolean =>
  !isSqlError(error) ||
  ["ConstraintError", "UniqueViolation", "SqlSyntaxError"].includes(error.reason._tag) ||
  /\b22[0-9A-Z]{3}\b|invalid|out of range|PgTypesCodecError/.test(String(error.reason.cause))

const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")])

const updateMetrics = Effect.fnUntraced(function* (
  ended: ReadonlyArray<EndedAttempt>,
  validLeases: ReadonlySet<string>,
) {
  const context = yield* Effect.context()
  for (const attempt of ended) {
    const isLeaseValid = validLeases.has(attempt.claim.lease)
    const state = stateOf(attempt, isLeaseValid)
    metrics.endedAttempts[state].updateUnsafe(1, context)
    metrics.exchangeDuration[state].updateUnsafe(attempt.durationMs / 1000, context)
    if (!isLeaseValid) metrics.lostLeases.updateUnsafe(1, context)
    if (attempt.outcome.error?.code === "abandoned") metrics.abandonedAttempts.updateUnsafe(1, context)
    if (attempt.outcome.error?.code === "not_allowed") metrics.deniedAddresses.updateUnsafe(1, context)
  }
})

/** Records ended attempts. */
export class AttemptRecorder extends Context.Service<
  AttemptRecorder,
  {
    /** Records the attempt and returns after the commit. Waits while the database is unavailable. */
    readonly record: (ended: EndedAttempt) => Effect.Effect<void>
  }
>()("keyshelf/webhooks/delivery/AttemptRecorder") {
  static readonly layer = Layer.effect(
    AttemptRecorder,
    Effect.gen(function* () {
      const repo = yield* AttemptsRepo
      const partitions = yield* Partitions
      const disabler = yield* EndpointDisabler
      const scope = yield* Effect.scope

      const store = (ended: ReadonlyArray<EndedAttempt>, healths: ReadonlyArray<EndpointHealth>) =>
        Effect.suspend(() =>
          repo.storeOutcomes(
            ended.map((attempt) => attemptRowOf(attempt, true)),
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
          Effect.retry({ schedule: backOff, while: (error) => !isRejection(error) }),
        )

      // An attempt that the database rejects must not delay the others, so each is then recorded alone. The rejected
      // one keeps its lease until that expires; after further claims it is abandoned.
      const recordAll = (ended: ReadonlyArray<EndedAttempt>): Effect.Effect<void> => {
        const healths = endpointHealthOf(ended)
        return store(ended, healths).pipe(
          Effect.flatMap((validLeases) => updateMetrics(ended, validLeases)),
          Effect.andThen(
            disabler.disableFailing(
              healths.filter(({ failingSince }) => failingSince !== null),
              new Date(Math.max(...ended.map(({ endedAt }) => endedAt.getTime()))),
            ),
          ),
          Effect.catchCause((cause) =>
            ended.length > 1
              ? Effect.forEach(ended, (attempt) => recordAll([attempt]), { discard: true })
              : Effect.logError(
                  "The outcome of a webhook attempt was rejected by the database; the attempt is repeated",
                  Cause.squash(cause),
                ),
          ),
        )
      }

      const commit = makeGroupCommit(
        (ended: ReadonlyArray<EndedAttempt>) =>
          Effect.as(
            recordAll(ended),
            ended.map(() => Exit.void),
          ),
        { maxBatch: MAX_ATTEMPTS_PER_COMMIT, scope },
      )

      return AttemptRecorder.of({ record: (ended) => commit("attempts", ended) })
    }),
  )
}
