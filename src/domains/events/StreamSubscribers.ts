/** Limits the open live streams of this process, and wakes them when their organization stream grows. */
import { Context, Effect, Latch, Layer } from "effect"
import type { Scope } from "effect"
import { Signals } from "../../kernel/ports/Signals.ts"
import { FollowEventsNodeFull, FollowEventsTooManyStreams } from "./Errors.ts"
import { EventOrdering, REMOVED } from "./EventOrdering.ts"

/** The limits and intervals of live streams. */
export interface LiveStreamLimits {
  readonly streamsPerOrganization: number
  readonly streamsPerProcess: number
  /** The interval of heartbeats on an open stream. Each heartbeat verifies the credential again. */
  readonly heartbeatMillis: number
  /** How long a client may read nothing before it is disconnected. */
  readonly stalledMillis: number
}

/** The limits and intervals of this process. */
export const LiveStreamLimits = Context.Reference<LiveStreamLimits>("keyshelf.reference/events/LiveStreamLimits", {
  defaultValue: () => ({
    streamsPerOrganization: 100,
    streamsPerProcess: 1000,
    heartbeatMillis: 15_000,
    stalledMillis: 60_000,
  }),
})

// Signals can be lost, so streams are also polled: more often while no signals can arrive.
const POLL_INTERVAL = { listening: "1 second", pollingOnly: "250 millis" } as const
// The minimum time between two polls, regardless of the number of signals.
const MIN_POLL_INTERVAL = "20 millis"

/** Waits for growth of an organization stream. */
interface Subscriber {
  /** The last position of the stream when the follower was added. */
  readonly head: number
  /** Waits until the stream may have grown since the last call returned, or since the follower was added. */
  readonly grown: Effect.Effect<void>
  /** Whether the organization was removed, so that the stream ends. */
  readonly isRemoved: () => boolean
}

// The head of a stream that was not polled yet.
const UNKNOWN = -2

interface OrganizationStream {
  head: number
  readonly waiters: Set<Latch.Latch>
}

/** Wakes live streams when their organization stream grows. */
export class EventSubscribers extends Context.Service<
  EventSubscribers,
  {
    /** Registers an open stream until the scope closes. Fails if a limit is reached. */
    readonly subscribe: (
      organizationId: string,
    ) => Effect.Effect<Subscriber, FollowEventsTooManyStreams | FollowEventsNodeFull, Scope.Scope>
    /** The number of open streams in this process. */
    readonly open: Effect.Effect<number>
  }
>()("keyshelf/events/EventSubscribers") {
  static readonly layer = Layer.effect(
    EventSubscribers,
    Effect.gen(function* () {
      const ordering = yield* EventOrdering
      const signals = yield* Signals
      const pace = yield* LiveStreamLimits
      const streams = new Map<string, OrganizationStream>()
      const hasStreams = Latch.makeUnsafe(false)
      let open = 0

      // One poll for all streams of the process: orders new events and wakes only the streams that grew.
      const poll = Effect.gen(function* () {
        const heads = yield* ordering.advance([...streams.keys()])
        for (const [organizationId, head] of heads) {
          const stream = streams.get(organizationId)
          if (stream === undefined || stream.head === head) continue
          stream.head = head
          for (const waiter of stream.waiters) waiter.openUnsafe()
        }
      })

      const watch = Effect.gen(function* () {
        const signal = yield* signals.subscribe("events")
        return yield* Effect.gen(function* () {
          yield* hasStreams.await
          const interval = (yield* signals.listening) ? POLL_INTERVAL.listening : POLL_INTERVAL.pollingOnly
          yield* Effect.raceFirst(signal, Effect.sleep(interval))
          // Streams stay open while the database is unavailable.
          yield* poll.pipe(Effect.catchCause((cause) => Effect.logDebug("Polling live streams failed", cause)))
          yield* Effect.sleep(MIN_POLL_INTERVAL)
        }).pipe(Effect.forever)
      })
      // A process without open streams neither listens nor polls.
      yield* Effect.forkScoped(Effect.andThen(hasStreams.await, watch))

      const leave = (organizationId: string, stream: OrganizationStream, waiter: Latch.Latch) => {
        open -= 1
        stream.waiters.delete(waiter)
        if (stream.waiters.size === 0) streams.delete(organizationId)
        if (streams.size === 0) hasStreams.closeUnsafe()
      }

      const enter = Effect.fnUntraced(function* (organizationId: string) {
        if (open >= pace.streamsPerProcess) {
          return yield* new FollowEventsNodeFull({
            detail: `This node already has ${pace.streamsPerProcess} open streams, the maximum. Retry later.`,
          })
        }
        const stream: OrganizationStream = streams.get(organizationId) ?? { head: UNKNOWN, waiters: new Set() }
        if (stream.waiters.size >= pace.streamsPerOrganization) {
          return yield* new FollowEventsTooManyStreams({
            detail: `The organization already has ${pace.streamsPerOrganization} open streams on this node, the maximum. Close some first.`,
          })
        }
        const waiter = Latch.makeUnsafe(false)
        open += 1
        streams.set(organizationId, stream)
        stream.waiters.add(waiter)
        hasStreams.openUnsafe()
        return { stream, waiter }
      })

      return EventSubscribers.of({
        subscribe: Effect.fnUntraced(function* (organizationId) {
          const { stream, waiter } = yield* Effect.acquireRelease(enter(organizationId), ({ stream, waiter }) =>
            Effect.sync(() => leave(organizationId, stream, waiter)),
          )
          const grown = Effect.map(waiter.await, () => void waiter.closeUnsafe())
          const head = yield* ordering.head(organizationId)
          if (head === REMOVED) stream.head = REMOVED
          return { head, grown, isRemoved: () => stream.head === REMOVED }
        }),
        open: Effect.sync(() => open),
      })
    }),
  )
}
