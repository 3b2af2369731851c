/** The role `dispatcher`: hands events over and makes deliveries until the process ends. */
import { Clock, Duration, Effect, Exit, Fiber, FiberSet, Latch, Layer, Schedule } from "effect"
import { registerHealth } from "../../../kernel/ports/HealthChecks.ts"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { Vacuum } from "../maintenance/Vacuum.ts"
import { Deliveries } from "./Deliveries.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import { LaneRepair } from "../maintenance/LaneRepair.ts"
import { ClaimRescuer } from "../maintenance/ClaimRescuer.ts"
import { Partitions } from "../history/Partitions.ts"
import { WebhookProvider } from "../outbox/Provider.ts"
import { QueueSampler } from "../maintenance/QueueSampler.ts"

const MAX_PER_CLAIM = 128

/** A claim of so many is followed by another without the question whether anything is due. */
const PLENTY = 32

/**
 * A claim waits until so much of what is in flight has been sent, but no longer than this: one claim for many costs a tenth of
 * many claims. It takes as long as the rest needs to be sent, so that neither waits for the other. One that got as many as it may
 * is followed by the next as soon as there is room for as many again: the endpoints are fast, and sent before the next is made.
 */
const SHARE_TO_SEND = 0.25
const GATHERING = "10 millis"

/** So many attempts may wait for their end to be stored while others are made; more, and the database cannot keep up. */
const MAX_RECORDING = 512

const AFTER_FAILED_LOOK = Duration.seconds(1)

/** Repeats a step for ever. After a failure (the database is away) it waits 250 ms, doubling up to 5 s. */
const persistently = (loop: { readonly name: string; failures: number }, step: Effect.Effect<void>) =>
  step.pipe(
    Effect.tap(() => Effect.sync(() => (loop.failures = 0))),
    Effect.catchCause((cause) => {
      const wait = Duration.millis(Math.min(250 * 2 ** loop.failures, 5000))
      loop.failures = Math.min(loop.failures + 1, 10)
      const told = loop.failures === 1 ? Effect.logWarning(`${loop.name} waits: a step failed`, cause) : Effect.void
      return Effect.andThen(told, Effect.sleep(wait))
    }),
    Effect.forever,
  )

/** Runs while its scope is open. At the end it claims no more, and waits 10 s for what is in flight. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const limits = yield* DeliveryLimits
    const signals = yield* Signals
    const provider = yield* WebhookProvider
    const deliveries = yield* Deliveries
    const nodes = yield* ClaimRescuer
    const partitions = yield* Partitions
    const sampling = yield* QueueSampler
    const deadRows = yield* Vacuum
    const laneHeads = yield* LaneRepair

    const signal = yield* signals.subscribe("webhooks")
    const poll = Effect.map(signals.listening, (heard) => (heard ? limits.poll : limits.pollWithoutSignals))
    // There may be work, or room for it.
    const workable = Latch.makeUnsafe(false)
    const gathered = Latch.makeUnsafe(true)
    let gatheredAt = 0
    const inFlight = yield* FiberSet.make<void>()
    let free = limits.concurrency
    let ending = 0
    const sending = () => limits.concurrency - free
    const room = () => (ending < MAX_RECORDING ? Math.min(free, MAX_PER_CLAIM) : 0)
    let stopping = false
    const dispatching = { name: "The dispatcher of webhooks", failures: 0 }
    const delivering = { name: "The delivery of webhooks", failures: 0 }
    yield* registerHealth(
      "webhooks",
      Effect.sync(() => {
        const failing = [dispatching, delivering].find(({ failures }) => failures > 0)
        return failing === undefined
          ? { status: "up", provider: provider.name, inFlight: sending() }
          : { status: "down", reason: `${failing.name} waits: its last step failed` }
      }),
    )

    const dispatch = Effect.gen(function* () {
      for (;;) {
        const published = yield* provider.publishDue
        if (published === 0) break
        deadRows.countDeadTuples(published)
        workable.openUnsafe()
      }
      yield* Effect.raceFirst(signal, Effect.flatMap(poll, Effect.sleep))
      workable.openUnsafe()
    })

    const start = Effect.fnUntraced(function* (most: number) {
      const claims = yield* deliveries.claim(most)
      deadRows.countDeadTuples(claims.length)
      if (stopping) yield* deliveries.release(claims)
      else {
        free -= claims.length
        const roomy = claims.length === MAX_PER_CLAIM ? limits.concurrency - MAX_PER_CLAIM : 0
        gatheredAt = Math.max(roomy, Math.floor(sending() * (1 - SHARE_TO_SEND)))
        if (sending() > gatheredAt) gathered.closeUnsafe()
        for (const claim of claims) {
          let isSent = false
          const sent = () => {
            if (isSent) return
            isSent = true
            free++
            ending++
            if (sending() <= gatheredAt) gathered.openUnsafe()
            workable.openUnsafe()
          }
          yield* FiberSet.run(
            inFlight,
            Effect.ensuring(
              deliveries.deliver(claim, sent),
              Effect.sync(() => {
                sent()
                ending--
                workable.openUnsafe()
              }),
            ),
          )
        }
      }
      return claims.length
    }, Effect.uninterruptible)

    // Sleeps until something tells of work, or the next attempt is due.
    const rest = Effect.fnUntraced(function* (nextDue: Date | null) {
      const at = yield* Clock.currentTimeMillis
      const longest = Duration.toMillis(yield* poll)
      const untilDue = nextDue === null ? longest : nextDue.getTime() - at
      // What is due already waits for room, or for a node that looks at it now.
      yield* Effect.raceFirst(workable.await, Effect.sleep(untilDue > 0 ? Math.min(untilDue, longest) : longest))
    })

    const gather = Effect.raceFirst(gathered.await, Effect.sleep(GATHERING))

    const deliver = Effect.gen(function* () {
      if (sending() > 0) yield* gather
      workable.closeUnsafe()
      if (room() === 0) return yield* workable.await
      yield* deliveries.releaseUnconfirmed
      const nextDue = yield* deliveries.nextDue
      if (nextDue !== null && nextDue.getTime() <= (yield* Clock.currentTimeMillis)) {
        // While there is more, the question when it is due is spared.
        while (room() > 0 && (yield* start(room())) >= PLENTY) yield* gather
        if (room() === 0) return
      }
      yield* rest(nextDue)
    })

    yield* partitions.maintain.pipe(
      Effect.catchCause((cause) => Effect.logWarning("The partitions of the webhook history could not be made", cause)),
      Effect.repeat(Schedule.spaced("1 hour")),
      Effect.forkScoped,
    )
    if (Duration.isFinite(limits.disconnectedFor)) {
      // It goes on while the database is away: that it connects is the sign of life that others look for.
      yield* nodes.rescueClaims.pipe(
        Effect.tap(({ rescued: givenBack }) => Effect.sync(() => givenBack > 0 && workable.openUnsafe())),
        Effect.map(({ nextRun: next }) => next),
        Effect.catchCause(() => Effect.succeed(AFTER_FAILED_LOOK)),
        Effect.flatMap(Effect.sleep),
        Effect.forever,
        Effect.forkScoped,
      )
    }
    yield* deadRows.vacuumWhenNeeded.pipe(
      Effect.catchCause((cause) => Effect.logDebug("The tables of webhooks could not be cleaned up", cause)),
      Effect.forever,
      Effect.forkScoped,
    )
    yield* laneHeads.repairHeads.pipe(
      Effect.tap((count) => Effect.sync(() => count > 0 && workable.openUnsafe())),
      Effect.ignoreCause,
      Effect.repeat(Schedule.spaced("1 minute")),
      Effect.forkScoped,
    )
    yield* sampling.sample.pipe(Effect.ignoreCause, Effect.repeat(Schedule.spaced("10 seconds")), Effect.forkScoped)

    yield* Effect.acquireRelease(
      Effect.all([
        Effect.forkDetach(persistently(dispatching, dispatch)),
        Effect.forkDetach(persistently(delivering, deliver)),
      ]),
      (loops) =>
        Effect.gen(function* () {
          stopping = true
          yield* Fiber.interruptAll(loops)
          yield* FiberSet.awaitEmpty(inFlight)
        }).pipe(
          Effect.interruptible,
          Effect.timeoutOption(limits.shutdownTimeout),
          Effect.exit,
          Effect.map(Exit.asVoid),
        ),
    )
  }),
)
