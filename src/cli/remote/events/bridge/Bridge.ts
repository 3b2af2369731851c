/**
 * Forwards the events of one organization to a broker, in the order of the stream, at least once. The position is
 * stored after the broker has acknowledged the events before it, so a bridge that is killed repeats some events and
 * leaves none out.
 *
 * If an organization has several bridges, only one works, and the newest takes over at once:
 *
 *   starts --------------------------> works: publishes, stores the position, renews it while there are no events
 *   works, another one wrote the position -> waits
 *   waits, the other one stopped, or has not renewed the position for `takeoverAfter` -> works
 */
import { Clock, Duration, Effect, Option, Ref, Semaphore, Stream } from "effect"
import type { CommandFailed } from "../../../Failure.ts"
import { EXIT_CODES } from "../../connection/ExitCodes.ts"
import { RequestFailed } from "../../connection/Service.ts"
import type { Request } from "../../connection/Service.ts"
import { liveEvents, RECONNECT_DELAY, storedEvents } from "../EventFeed.ts"
import type { Batch } from "../EventFeed.ts"
import { PositionTaken } from "./Broker.ts"
import type { Broker, BrokerFailed, StoredPosition } from "./Broker.ts"

/** What a bridge does for an organization. */
export type BridgeState = "starting" | "serving" | "waiting" | "retrying" | "stopped"

interface BridgeOptions {
  readonly organization: { readonly id: string; readonly slug: string }
  /** The id of this process, as the holder of positions. */
  readonly holder: string
  readonly broker: Broker
  readonly takeoverAfter: Duration.Duration
  readonly report: (state: BridgeState, published: number) => Effect.Effect<void>
}

const MIN_DELAY_MS = 200
const MAX_DELAY_MS = 15_000

const requestAfter = (cursor: string | null): Request => ({
  method: "GET",
  path: "/api/events",
  query: cursor === null ? {} : { cursor },
  body: Option.none(),
  idempotencyKey: Option.none(),
})

/** Whether the service rejected the credential or the position: only a person can fix that. */
export const isPermanent = (error: unknown): error is RequestFailed =>
  error instanceof RequestFailed && error.exitCode !== EXIT_CODES.unavailable

/** Runs until the service rejects the credential or the position. */
export const bridge = Effect.fnUntraced(function* (options: BridgeOptions) {
  const { broker, holder, organization, report, takeoverAfter } = options
  const renewal = Duration.times(takeoverAfter, 1 / 3)
  let failures = 0
  let published = 0

  /** Takes over the position, even from a bridge that works. */
  const acquire = Effect.gen(function* () {
    for (;;) {
      const stored = yield* broker.readPosition(organization.id)
      const cursor = stored?.cursor ?? null
      const revision = yield* broker
        .writePosition(organization.id, { cursor, holder }, stored?.revision)
        .pipe(Effect.catchTag("PositionTaken", () => Effect.undefined))
      if (revision !== undefined) return { cursor, revision }
    }
  })

  /** Waits until the other bridge stopped or is gone. The clocks of both do not matter. */
  const standBy = Effect.gen(function* () {
    let seen: StoredPosition | undefined
    let seenAt = 0
    for (;;) {
      const stored = yield* broker.readPosition(organization.id)
      const at = yield* Clock.currentTimeMillis
      if (stored === undefined || stored.holder === null) return
      if (stored.revision !== seen?.revision) {
        seen = stored
        seenAt = at
      }
      if (at - seenAt >= Duration.toMillis(takeoverAfter)) return
      yield* Effect.sleep(renewal)
    }
  })

  /** Works as long as this bridge holds the position. */
  const serve = Effect.gen(function* () {
    const held = yield* acquire
    let cursor = held.cursor
    const revision = yield* Ref.make(held.revision)
    const oneAtATime = Semaphore.makeUnsafe(1)
    const write = (next: string | null) =>
      Effect.gen(function* () {
        const before = yield* Ref.get(revision)
        const wrote = broker.writePosition(organization.id, { cursor, holder: next }, before).pipe(
          // After a write without a response, the position may be this bridge's own, with a newer revision.
          Effect.catchTag("PositionTaken", (taken) =>
            Effect.gen(function* () {
              const stored = yield* broker.readPosition(organization.id)
              if (stored?.holder !== holder) return yield* taken
              return yield* broker.writePosition(organization.id, { cursor, holder: next }, stored.revision)
            }),
          ),
        )
        yield* Ref.set(revision, yield* wrote)
      }).pipe(oneAtATime.withPermits(1), Effect.uninterruptible)

    const forward = Effect.fnUntraced(function* ({ events, position }: Batch) {
      for (const event of events) {
        yield* Effect.uninterruptible(broker.publish(organization.id, event))
        published += 1
      }
      cursor = position
      yield* write(holder)
      failures = 0
      yield* report("serving", published)
    })

    const read = Effect.gen(function* () {
      yield* Stream.runForEach(storedEvents(requestAfter(cursor)), forward)
      yield* report("serving", published)
      for (;;) {
        yield* Stream.runForEach(liveEvents(requestAfter(null), cursor ?? undefined), forward)
        yield* Effect.sleep(RECONNECT_DELAY)
      }
    })
    const renew = Effect.forever(Effect.delay(write(holder), renewal))
    yield* Effect.logInfo("Forwards events").pipe(Effect.annotateLogs({ from: cursor ?? "the first event" }))
    yield* Effect.raceFirst(read, renew).pipe(Effect.onInterrupt(() => Effect.ignore(write(null))))
  })

  const backOff = (error: BrokerFailed | RequestFailed | CommandFailed) =>
    Effect.gen(function* () {
      failures += 1
      const delay = Math.min(MIN_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS)
      yield* report("retrying", published)
      yield* Effect.logWarning("Forwarding failed; it is tried again").pipe(
        Effect.annotateLogs({ reason: error.message, retryInMs: delay }),
      )
      yield* Effect.sleep(delay)
    })

  const turn = serve.pipe(
    Effect.catchIf(
      (error) => error instanceof PositionTaken,
      () =>
        Effect.gen(function* () {
          yield* report("waiting", published)
          yield* Effect.logInfo("Another bridge forwards the events; this one waits")
          yield* standBy
        }),
    ),
    Effect.catchIf((error) => !isPermanent(error), backOff),
  )
  return yield* Effect.forever(turn).pipe(
    Effect.tapError((error) =>
      Effect.andThen(
        report("stopped", published),
        Effect.logError("Stopped forwarding").pipe(Effect.annotateLogs({ reason: error.message })),
      ),
    ),
    Effect.annotateLogs({ organization: organization.slug }),
  )
})
