/** Limits the open live streams of this process, and wakes them when their organization stream grows. */
import { Context, Effect, Latch, Layer } from "effect"
import type { Scope } from "effect"
import { Signals } from "../../kernel/ports/Signals.ts"
import { FollowEventsNodeFull, FollowEventsTooManyStreams } from "./Errors.ts"
import { EventOrdering, REMOVED } from "./EventOrdering.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

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

/** Counts open live streams, and rejects those beyond the limits. */
const openCounter = ({ streamsPerOrganization, streamsPerProcess }: LiveStreamLimits) => {
  const byOrganization = new Map<OrganizationId, number>()
  let open = 0
  return {
    count: Effect.sync(() => open),
    enter: Effect.fnUntraced(function* (organizationId: OrganizationId) {
      const own = byOrganization.get(organizationId) ?? 0
      if (open >= streamsPerProcess) {
        return yield* new FollowEventsNodeFull({
          detail: `This node already has ${streamsPerProcess} open streams, the maximum. Retry later.`,
        })
      }
      if (own >= streamsPerOrganization) {
        return yield* new FollowEventsTooManyStreams({
          detail: `The organization already has ${streamsPerOrganization} open streams on this node, the maximum. Close some first.`,
        })
      }
      open += 1
      byOrganization.set(organizationId, own + 1)
    }),
    leave: (organizationId: OrganizationId) =>
      Effect.sync(() => {
        const rest = (byOrganization.get(organizationId) ?? 0) - 1
        open -= 1
        if (rest > 0) byOrganization.set(organizationId, rest)
        else byOrganization.delete(organizationId)
      }),
  }
}

/** Wakes live streams when their organization stream grows. */
export class EventSubscribers extends Context.Service<
  EventSubscribers,
  {
    /** Registers an open stream until the scope closes. Fails if a limit is reached. */
    readonly subscribe: (
      organizationId: OrganizationId,
    ) => Effect.Effect<Subscriber, FollowEventsTooManyStreams | FollowEventsNodeFull, Scope.Scope>
    /** Registers a reader of this process until the scope closes. It does not count as an open stream. */
    readonly watch: (organizationId: OrganizationId) => Effect.Effect<Subscriber, never, Scope.Scope>
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
      const streams = new Map<OrganizationId, OrganizationStream>()
      const hasStreams = Latch.makeUnsafe(false)

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

      const pollOnSignals = Effect.gen(function* () {
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
      yield* Effect.forkScoped(Effect.andThen(hasStreams.await, pollOnSignals))

      const remove = (organizationId: OrganizationId, stream: OrganizationStream, waiter: Latch.Latch) => {
        stream.waiters.delete(waiter)
        if (stream.waiters.size === 0) streams.delete(organizationId)
        if (streams.size === 0) hasStreams.closeUnsafe()
      }

      const add = (organizationId: OrganizationId) => {
        const stream: OrganizationStream = streams.get(organizationId) ?? { head: UNKNOWN, waiters: new Set() }
        const waiter = Latch.makeUnsafe(false)
        streams.set(organizationId, stream)
        stream.waiters.add(waiter)
        hasStreams.openUnsafe()
        return { stream, waiter }
      }

      const watch = Effect.fnUntraced(function* (organizationId: OrganizationId) {
        const { stream, waiter } = yield* Effect.acquireRelease(
          Effect.sync(() => add(organizationId)),
          ({ stream, waiter }) => Effect.sync(() => remove(organizationId, stream, waiter)),
        )
        const grown = Effect.map(waiter.await, () => void waiter.closeUnsafe())
        const head = yield* ordering.head(organizationId)
        if (head === REMOVED) stream.head = REMOVED
        return { head, grown, isRemoved: () => stream.head === REMOVED }
      })

      const open = openCounter(pace)
      return EventSubscribers.of({
        watch,
        subscribe: Effect.fnUntraced(function* (organizationId) {
          yield* Effect.acquireRelease(open.enter(organizationId), () => open.leave(organizationId))
          return yield* watch(organizationId)
        }),
        open: open.count,
      })
    }),
  )
}
