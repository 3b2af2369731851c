/**
 * Delivers events: claims due deliveries, sends one attempt of each, and records its outcome. Any number of nodes can
 * do so.
 */
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { now } from "../../../kernel/values/Timestamp.ts"
import { DeliveryLimits, LEASE_MARGIN } from "../DeliveryLimits.ts"
import { eventText } from "../../events/log/EventText.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import { AttemptRecorder } from "./AttemptRecorder.ts"
import { makeClaimer, MAX_START_DELAY } from "./Claimer.ts"
import type { Claim } from "./Claimer.ts"
import { makeConcurrencyLimiter, makeSpeedTracker } from "./ConcurrencyLimiter.ts"
import type { SpeedTracker } from "./ConcurrencyLimiter.ts"
import { signedHeaders, WebhookSender } from "./Sender.ts"
import type { AttemptOutcome } from "./Sender.ts"

/**
 * The maximum number of claims of one attempt. It is abandoned afterwards, because it may be what ends the processes.
 */
const MAX_CLAIMS = 3

const unsent = (code: "abandoned" | "event_gone", message: string): AttemptOutcome => ({
  statusCode: null,
  responseBody: null,
  error: { code, message },
})

/** The steps of the delivery engine; the worker repeats them. */
export class Deliveries extends Context.Service<
  Deliveries,
  {
    /**
     * Claims up to `max` due deliveries, fairly over endpoints and within their limits. A claim that is not delivered
     * is due again when its lease expires.
     */
    readonly claim: (max: number) => Effect.Effect<ReadonlyArray<Claim>>
    /** Releases what a failed claim may have claimed. The next claim does so too. */
    readonly releaseUnconfirmed: Effect.Effect<void>
    /** Holds the claims in flight under the current id of this node, by which others see that it is alive. */
    readonly adopt: Effect.Effect<void>
    /** Sends one attempt and returns when its outcome is stored. Calls `onSent` when the exchange is over. */
    readonly deliver: (claim: Claim, onSent?: () => void) => Effect.Effect<void>
    /** Releases claims whose attempts have not begun. */
    readonly release: (claims: ReadonlyArray<Claim>) => Effect.Effect<void>
    /** When the next delivery is due; `null` if none is pending. In the past while limits are reached. */
    readonly nextDue: Effect.Effect<Date | null>
    /** Makes all attempts that are due now, and returns how many. */
    readonly deliverDue: Effect.Effect<number>
  }
>()("keyshelf/webhooks/delivery/Deliveries") {
  static readonly layer = Layer.suspend(() => Layer.effect(Deliveries, make))
}

/** Makes attempts, and measures how fast their endpoints respond. */
const attempting = Effect.fnUntraced(function* (speeds: SpeedTracker) {
  const sender = yield* WebhookSender

  const send = Effect.fnUntraced(function* ({ event, row, url, ...claim }: Claim) {
    if (row.claims > MAX_CLAIMS) {
      return unsent("abandoned", `The attempt was claimed ${MAX_CLAIMS} times and never ended`)
    }
    if (event === null) return unsent("event_gone", "The event is no longer stored")
    const at = yield* now
    const body = eventText(event)
    const secrets = yield* claim.secrets
    return yield* sender.send({
      organizationId: row.organizationId,
      endpointId: row.endpointId,
      deliveryId: row.id,
      eventId: row.eventId,
      attempt: row.attempt,
      url,
      headers: signedHeaders(row.eventId, at, body, secrets),
      body,
    })
  })

  return Effect.fnUntraced(function* (claim: Claim) {
    const clock = yield* Clock.Clock
    const startedAtNanos = clock.currentTimeNanosUnsafe()
    const outcome = yield* send(claim)
    const durationMs = Math.round(Number(clock.currentTimeNanosUnsafe() - startedAtNanos) / 1_000_000)
    speeds.record(claim.row.endpointId, outcome.error === null, durationMs)
    return {
      claim: claim.row,
      url: claim.url,
      outcome,
      startedAt: claim.claimedAt,
      endedAt: yield* now,
      durationMs,
    }
  })
})

const make = Effect.gen(function* () {
  const queue = yield* QueueRepo
  const recorder = yield* AttemptRecorder
  const limits = yield* DeliveryLimits
  if (Duration.isLessThan(limits.lease, Duration.sum(limits.timeout, LEASE_MARGIN))) {
    return yield* Effect.die(new Error("A lease must outlast the exchange by 20 s"))
  }

  const speeds = makeSpeedTracker()
  const limitPerEndpoint = makeConcurrencyLimiter(limits.perEndpoint)
  const limitPerOrganization = makeConcurrencyLimiter(limits.perOrganization)
  const claimer = yield* makeClaimer(speeds)
  const attempt = yield* attempting(speeds)

  const deliver = Effect.fnUntraced(
    function* (claim: Claim, onSent?: () => void) {
      const ended = yield* limitPerEndpoint(
        claim.row.endpointId,
        limitPerOrganization(
          claim.row.organizationId,
          Effect.flatMap(now, (at) =>
            at.getTime() - claim.claimedAt.getTime() > Duration.toMillis(MAX_START_DELAY)
              ? Effect.succeedNone
              : Effect.asSome(attempt(claim)),
          ),
        ),
      )
      claimer.markRecording(claim)
      onSent?.()
      yield* Option.match(ended, { onNone: () => claimer.release([claim]), onSome: recorder.record })
    },
    // The lease then decides, as for a process that died: after three claims the attempt is abandoned.
    Effect.catchDefect((defect) =>
      Effect.logError("A webhook attempt died; it is repeated when its lease expires", defect),
    ),
    (delivered, claim) =>
      Effect.ensuring(
        delivered,
        Effect.sync(() => claimer.forget(claim)),
      ),
  )

  const deliverDue = Effect.gen(function* () {
    let attempts = 0
    for (;;) {
      const claims = yield* claimer.claim(limits.concurrency)
      if (claims.length === 0) return attempts
      yield* Effect.forEach(claims, (claim) => deliver(claim), { concurrency: "unbounded", discard: true })
      attempts += claims.length
    }
  })

  return Deliveries.of({
    claim: claimer.claim,
    adopt: claimer.adopt,
    releaseUnconfirmed: Effect.flatMap(now, claimer.releaseUnconfirmed),
    deliver,
    nextDue: queue.nextDue,
    release: claimer.release,
    deliverDue,
  })
})
