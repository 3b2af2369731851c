/**
 * The role `dispatcher`: publishes the events of the outbox and delivers them until the process ends. It consists of
 * two loops and background jobs.
 *
 * The publishing loop publishes due events until none is left, then waits for a signal or the poll interval.
 *
 * The delivery loop is a state machine. A failed step starts over in `batching`, after a delay.
 *
 * | State      | Does                                                 | Next state                                  |
 * |------------|------------------------------------------------------|---------------------------------------------|
 * | `batching` | waits until enough attempts were sent, or 10 ms      | `checking`                                  |
 * | `checking` | releases unconfirmed claims, reads the next due time | no room: `full`; due: `claiming`; or `idle` |
 * | `claiming` | claims and starts attempts, while many are due       | no room: `batching`; few were due: `idle`   |
 * | `full`     | waits until an attempt was sent or recorded          | `batching`                                  |
 * | `idle`     | waits for a signal, an attempt, the due time or poll | `batching`                                  |
 *
 * It begins once the database shows the node's sign of life, at most 2 s after the start.
 *
 * Attempts run concurrently with the loop, each in the phases of `AttemptLoad`. On shutdown both loops are interrupted,
 * a claim in flight is released, and the attempts get `shutdownTimeout` to end.
 */
import { Clock, Duration, Effect, Exit, Fiber, FiberSet, Layer, Schedule } from "effect"
import { registerHealth } from "../../../kernel/ports/HealthChecks.ts"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import { Partitions } from "../history/Partitions.ts"
import { ClaimRescuer } from "../maintenance/ClaimRescuer.ts"
import { LaneRepair } from "../maintenance/LaneRepair.ts"
import { QueueSampler } from "../maintenance/QueueSampler.ts"
import { Vacuum } from "../maintenance/Vacuum.ts"
import { WebhookProvider } from "../outbox/Provider.ts"
import { makeAttemptLoad } from "./AttemptLoad.ts"
import type { AttemptLoad } from "./AttemptLoad.ts"
import { Deliveries } from "./Deliveries.ts"

type DeliveryState = "batching" | "checking" | "claiming" | "full" | "idle"

/** After a claim of at least this many, the next claim does not check first whether anything is due. */
const MIN_TO_CLAIM_AGAIN = 32

const AFTER_FAILED_RESCUE = Duration.seconds(1)

const UNSEEN_CHECK = Duration.millis(20)

const MIN_BACKOFF_MS = 250
const MAX_BACKOFF_MS = 5000
// Keeps the power of two small; the back-off has long reached its maximum.
const MAX_FAILURES = 10

interface Loop {
  readonly name: string
  /** Failed steps since the last successful one. */
  failures: number
}

/** Repeats a step forever. After a failure, such as a database outage, it waits 250 ms, doubling up to 5 s. */
const repeatForever = (loop: Loop, step: Effect.Effect<void>) =>
  step.pipe(
    Effect.tap(() => Effect.sync(() => (loop.failures = 0))),
    Effect.catchCause((cause) => {
      const delay = Duration.millis(Math.min(MIN_BACKOFF_MS * 2 ** loop.failures, MAX_BACKOFF_MS))
      loop.failures = Math.min(loop.failures + 1, MAX_FAILURES)
      const logged = loop.failures === 1 ? Effect.logWarning(`${loop.name} failed and is retried`, cause) : Effect.void
      return Effect.andThen(logged, Effect.sleep(delay))
    }),
    Effect.forever,
  )

const pollInterval = Effect.gen(function* () {
  const limits = yield* DeliveryLimits
  const signals = yield* Signals
  return Effect.map(signals.listening, (isListening) => (isListening ? limits.poll : limits.pollWithoutSignals))
})

/** Creates the step of the publishing loop. */
const makePublishing = Effect.fnUntraced(function* (load: AttemptLoad) {
  const signals = yield* Signals
  const provider = yield* WebhookProvider
  const vacuum = yield* Vacuum
  const signal = yield* signals.subscribe("webhooks")
  const poll = yield* pollInterval
  return Effect.gen(function* () {
    for (;;) {
      const published = yield* provider.publishDue
      if (published === 0) break
      vacuum.countDeadTuples(published)
      load.wake.openUnsafe()
    }
    yield* Effect.raceFirst(signal, Effect.flatMap(poll, Effect.sleep))
    load.wake.openUnsafe()
  })
})

/** Creates the step of the delivery loop: from `batching` through other states and back. */
const makeDelivering = Effect.fnUntraced(function* (
  load: AttemptLoad,
  attempts: FiberSet.FiberSet<void>,
  isStopping: () => boolean,
) {
  const deliveries = yield* Deliveries
  const vacuum = yield* Vacuum
  const poll = yield* pollInterval
  let nextDue: Date | null = null

  // Uninterruptible: a claim without its attempts would block its lanes until the leases expire.
  const claim = Effect.fnUntraced(function* (max: number) {
    const claims = yield* deliveries.claim(max)
    vacuum.countDeadTuples(claims.length)
    if (isStopping()) yield* deliveries.release(claims)
    else {
      load.add(claims.length)
      for (const one of claims) {
        const { ended, sent } = load.track()
        yield* FiberSet.run(attempts, Effect.ensuring(deliveries.deliver(one, sent), Effect.sync(ended)))
      }
    }
    return claims.length
  }, Effect.uninterruptible)

  const states: Readonly<Record<DeliveryState, Effect.Effect<DeliveryState>>> = {
    batching: Effect.gen(function* () {
      if (load.sending() > 0) yield* load.batched
      return "checking" as const
    }),

    checking: Effect.gen(function* () {
      load.wake.closeUnsafe()
      if (load.room() === 0) return "full"
      yield* deliveries.releaseUnconfirmed
      nextDue = yield* deliveries.nextDue
      return nextDue !== null && nextDue.getTime() <= (yield* Clock.currentTimeMillis) ? "claiming" : "idle"
    }),

    claiming: Effect.gen(function* () {
      while (load.room() > 0 && (yield* claim(load.room())) >= MIN_TO_CLAIM_AGAIN) yield* load.batched
      return load.room() === 0 ? "batching" : "idle"
    }),

    full: Effect.as(load.wake.await, "batching" as const),

    idle: Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const interval = Duration.toMillis(yield* poll)
      const untilDue = nextDue === null ? interval : nextDue.getTime() - at
      // What is already due exceeds its limits: it waits for an attempt to end, here or on another node.
      yield* Effect.raceFirst(load.wake.await, Effect.sleep(untilDue > 0 ? Math.min(untilDue, interval) : interval))
      return "batching" as const
    }),
  }

  return Effect.gen(function* () {
    let state: DeliveryState = "batching"
    do state = yield* states[state]
    while (state !== "batching")
  })
})

/** Starts the background jobs of the engine. */
const startMaintenance = Effect.fnUntraced(function* (load: AttemptLoad) {
  const deliveries = yield* Deliveries
  const rescuer = yield* ClaimRescuer
  const partitions = yield* Partitions
  const sampler = yield* QueueSampler
  const vacuum = yield* Vacuum
  const repair = yield* LaneRepair

  yield* partitions.maintain.pipe(
    Effect.catchCause((cause) => Effect.logWarning("The partitions of the webhook history were not maintained", cause)),
    Effect.repeat(Schedule.spaced("1 hour")),
    Effect.forkScoped,
  )
  // It continues during a database outage: its connection is the sign of life that other nodes look for.
  yield* rescuer.rescueClaims.pipe(
    Effect.tap(({ rescued }) => Effect.sync(() => rescued > 0 && load.wake.openUnsafe())),
    Effect.tap(() => deliveries.adopt),
    Effect.map(({ nextRun }) => nextRun),
    Effect.catchCause(() => Effect.succeed(AFTER_FAILED_RESCUE)),
    Effect.flatMap(Effect.sleep),
    Effect.forever,
    Effect.forkScoped,
  )
  yield* vacuum.vacuumWhenNeeded.pipe(
    Effect.catchCause((cause) => Effect.logDebug("The webhook tables were not vacuumed", cause)),
    Effect.forever,
    Effect.forkScoped,
  )
  yield* repair.repairHeads.pipe(
    Effect.tap((count) => Effect.sync(() => count > 0 && load.wake.openUnsafe())),
    Effect.ignoreCause,
    Effect.repeat(Schedule.spaced("1 minute")),
    Effect.forkScoped,
  )
  yield* sampler.sample.pipe(Effect.ignoreCause, Effect.repeat(Schedule.spaced("10 seconds")), Effect.forkScoped)
})

/**
 * Waits until other nodes can see this one. What it claimed before would have no owner, and wait for its lease if this
 * process died in its first moments.
 */
const untilSeen = Effect.gen(function* () {
  const { owner } = yield* ClaimRescuer
  const { unseenFor } = yield* DeliveryLimits
  yield* owner.pipe(
    Effect.repeat({ until: (id) => id !== null, schedule: Schedule.spaced(UNSEEN_CHECK) }),
    Effect.timeoutOption(unseenFor),
  )
})

/** Runs while its scope is open. When it closes, it stops claiming and waits for the attempts in flight. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { concurrency, shutdownTimeout } = yield* DeliveryLimits
    const provider = yield* WebhookProvider
    const load = makeAttemptLoad(concurrency)
    const attempts = yield* FiberSet.make<void>()
    let isStopping = false

    const publishing: Loop = { name: "Publishing webhook events", failures: 0 }
    const delivering: Loop = { name: "Delivering webhooks", failures: 0 }
    yield* registerHealth(
      "webhooks",
      Effect.sync(() => {
        const failing = [publishing, delivering].find(({ failures }) => failures > 0)
        return failing === undefined
          ? { status: "up", provider: provider.name, inFlight: load.sending() }
          : { status: "down", reason: `${failing.name} failed and is retried` }
      }),
    )

    const publish = yield* makePublishing(load)
    const deliver = yield* makeDelivering(load, attempts, () => isStopping)
    yield* startMaintenance(load)
    yield* Effect.acquireRelease(
      Effect.all([
        Effect.forkDetach(repeatForever(publishing, publish)),
        Effect.forkDetach(Effect.andThen(untilSeen, repeatForever(delivering, deliver))),
      ]),
      (loops) =>
        Effect.gen(function* () {
          isStopping = true
          yield* Fiber.interruptAll(loops)
          yield* FiberSet.awaitEmpty(attempts)
        }).pipe(Effect.interruptible, Effect.timeoutOption(shutdownTimeout), Effect.exit, Effect.map(Exit.asVoid)),
    )
  }),
)
