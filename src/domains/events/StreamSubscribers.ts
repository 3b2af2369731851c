/** The open live streams of this process: how many there may be, and who is woken when a stream grows. */
import { Context, Effect, Latch, Layer } from "effect"
import type { Scope } from "effect"
import { Signals } from "../../kernel/ports/Signals.ts"
import { FollowEventsNodeFull, FollowEventsTooManyStreams } from "./Errors.ts"
import { EventPlacing } from "./EventOrdering.ts"

/** The bounds and the pace of live streams. */
export interface LivePace {
  readonly streamsPerOrganization: number
  readonly streamsPerProcess: number
  /** Between two heartbeats of an open stream, in milliseconds. The credential is verified again at each. */
  readonly heartbeatMillis: number
  /** How long a reader may take no byte before it is cut off. */
  readonly stalledMillis: number
}

/** The pace of this process. */
export const LivePace = Context.Reference<LivePace>("keyshelf.reference/events/LivePace", {
  defaultValue: () => ({
    streamsPerOrganization: 100,
    streamsPerProcess: 1000,
    heartbeatMillis: 15_000,
    stalledMillis: 60_000,
  }),
})

// Signals may be lost, so streams are also looked at by the clock: more often while no node can be heard.
const POLL = { listening: "1 second", deaf: "250 millis" } as const
// Between two looks, however many signals there are.
const PAUSE = "20 millis"

/** Waits for growth of one organization's stream. */
export interface Follower {
  /** The last position when the follower came. */
  readonly head: number
  /** Waits until the stream may have grown since this last returned (at first: since the follower came). */
  readonly grown: Effect.Effect<void>
}

interface Hall {
  head: number
  readonly waiters: Set<Latch.Latch>
}

/** Lets live streams follow the growth of their organization's stream. */
export class EventFollowers extends Context.Service<
  EventFollowers,
  {
    /** A place among the open streams, until the scope closes. */
    readonly follow: (
      organizationId: string,
    ) => Effect.Effect<Follower, FollowEventsTooManyStreams | FollowEventsNodeFull, Scope.Scope>
    /** How many streams are open in this process. */
    readonly open: Effect.Effect<number>
  }
>()("keyshelf/events/EventFollowers") {
  static readonly layer = Layer.effect(
    EventFollowers,
    Effect.gen(function* () {
      const placing = yield* EventPlacing
      const signals = yield* Signals
      const pace = yield* LivePace
      const halls = new Map<string, Hall>()
      const occupied = Latch.makeUnsafe(false)
      let open = 0

      // One look for all streams of the process: it places what is new, and wakes only the streams that grew.
      const look = Effect.gen(function* () {
        const heads = yield* placing.advance([...halls.keys()])
        for (const [organizationId, head] of heads) {
          const hall = halls.get(organizationId)
          if (hall === undefined || hall.head === head) continue
          hall.head = head
          for (const waiter of hall.waiters) waiter.openUnsafe()
        }
      })

      const watch = Effect.gen(function* () {
        const signal = yield* signals.subscribe("events")
        return yield* Effect.gen(function* () {
          yield* occupied.await
          const pause = (yield* signals.listening) ? POLL.listening : POLL.deaf
          yield* Effect.raceFirst(signal, Effect.sleep(pause))
          // The database may be away; the streams wait.
          yield* look.pipe(Effect.catchCause((cause) => Effect.logDebug("Live streams could not be advanced", cause)))
          yield* Effect.sleep(PAUSE)
        }).pipe(Effect.forever)
      })
      // A process without open streams neither listens nor polls.
      yield* Effect.forkScoped(Effect.andThen(occupied.await, watch))

      const leave = (organizationId: string, hall: Hall, waiter: Latch.Latch) => {
        open -= 1
        hall.waiters.delete(waiter)
        if (hall.waiters.size === 0) halls.delete(organizationId)
        if (halls.size === 0) occupied.closeUnsafe()
      }

      const enter = Effect.fnUntraced(function* (organizationId: string) {
        if (open >= pace.streamsPerProcess) {
          return yield* new FollowEventsNodeFull({
            detail: `At most ${pace.streamsPerProcess} streams are open on one node.`,
          })
        }
        const hall: Hall = halls.get(organizationId) ?? { head: -1, waiters: new Set() }
        if (hall.waiters.size >= pace.streamsPerOrganization) {
          return yield* new FollowEventsTooManyStreams({
            detail: `An organization may have ${pace.streamsPerOrganization} open streams on one node. Close some first.`,
          })
        }
        const waiter = Latch.makeUnsafe(false)
        open += 1
        halls.set(organizationId, hall)
        hall.waiters.add(waiter)
        occupied.openUnsafe()
        return { hall, waiter }
      })

      return EventFollowers.of({
        follow: Effect.fnUntraced(function* (organizationId) {
          const { waiter } = yield* Effect.acquireRelease(enter(organizationId), ({ hall, waiter }) =>
            Effect.sync(() => leave(organizationId, hall, waiter)),
          )
          const grown = Effect.map(waiter.await, () => void waiter.closeUnsafe())
          return { head: yield* placing.head(organizationId), grown }
        }),
        open: Effect.sync(() => open),
      })
    }),
  )
}
