/** `GET /events` as Server-Sent Events: the stream of one client, from its cursor until its credential ends. */
import { Clock, Context, Effect, Layer, Stream } from "effect"
import type { Scope } from "effect"
import { Sse } from "effect/encoding"
import { Shutdown } from "../../kernel/ports/Shutdown.ts"
import { Cursors } from "../../kernel/contract/Page.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { FollowEventsNodeFull, FollowEventsTooManyStreams } from "./Errors.ts"
import { EventSubscribers, LiveStreamLimits } from "./StreamSubscribers.ts"
import type { EventFilter, PositionedEvent } from "./Model.ts"
import { EventsRepo } from "./Repo.ts"
import { eventText, listingOf } from "./Rules.ts"

const BATCH = 50
const RECONNECT_MILLIS = 1000
const HEARTBEAT = ":\n\n"
// The time that a client has at shutdown to read its pending output before it is disconnected.
const FINAL_FLUSH_TIMEOUT = "1 second"

/** Whether the client's credential is valid; `unknown` while the database is unavailable. */
export type Admission = "admitted" | "refused" | "unknown"

/** The parameters of a live stream. */
interface LiveRequest {
  readonly organizationId: OrganizationId
  readonly filter: EventFilter
  /** The stream starts after this cursor; without one, with new events. */
  readonly cursor: string | undefined
  /** Verifies the client's credential again. */
  readonly admission: Effect.Effect<Admission>
}

/** Opens live streams. */
export class LiveEvents extends Context.Service<
  LiveEvents,
  {
    /**
     * Opens a live stream and returns its text. It ends when the credential becomes invalid, the organization is
     * removed or the process shuts down.
     * Run it in the scope of the request and on the fiber that writes the response, which a stalled client interrupts.
     */
    readonly follow: (
      request: LiveRequest,
    ) => Effect.Effect<
      Stream.Stream<string>,
      InvalidCursor | FollowEventsTooManyStreams | FollowEventsNodeFull,
      Scope.Scope
    >
  }
>()("keyshelf/events/LiveEvents") {
  static readonly layer = Layer.suspend(() => Layer.effect(LiveEvents, make))
}

const frameOf = (id: string, event: PositionedEvent) =>
  Sse.encoder.write({ _tag: "Event", event: event.type, id, data: eventText(event) })

/**
 * The heartbeats of a stream that begins. Each verifies the credential again; there is none, and the stream ends, if it
 * is refused, or if it could not be verified for two intervals.
 */
const heartbeatsFrom = (begin: number, intervalMillis: number, admission: Effect.Effect<Admission>) => {
  let dueAt = begin + intervalMillis
  let admittedAt = begin
  const next = Effect.gen(function* () {
    const verdict = yield* admission
    const at = yield* Clock.currentTimeMillis
    dueAt = at + intervalMillis
    if (verdict === "admitted") admittedAt = at
    return verdict !== "refused" && at - admittedAt < 2 * intervalMillis ? HEARTBEAT : undefined
  })
  return { dueAt: () => dueAt, next }
}

/** Waits until the client has read nothing for too long. `handedAt` is when its pending output was passed to the response. */
const stalled = (handedAt: () => number | undefined, { heartbeatMillis, stalledMillis }: LiveStreamLimits) =>
  Effect.gen(function* () {
    for (;;) {
      yield* Effect.sleep(heartbeatMillis)
      const at = yield* Clock.currentTimeMillis
      const since = handedAt()
      if (since !== undefined && at - since >= stalledMillis) return
    }
  })

const make = Effect.gen(function* () {
  const repo = yield* EventsRepo
  const cursors = yield* Cursors
  const subscribers = yield* EventSubscribers
  const shutdown = yield* Shutdown
  const pace = yield* LiveStreamLimits

  const follow = Effect.fnUntraced(function* ({ admission, cursor, filter, organizationId }: LiveRequest) {
    const listing = listingOf(organizationId, filter)
    const idAt = (position: number) => cursors.seal(listing, [position])
    const from = cursor === undefined ? undefined : Number((yield* cursors.open(listing, cursor))[0])
    const resolved = yield* repo.resolve(organizationId, filter)
    const { grown, head, isRemoved } = yield* subscribers.subscribe(organizationId)
    const start = from ?? head
    const heartbeats = heartbeatsFrom(yield* Clock.currentTimeMillis, pace.heartbeatMillis, admission)

    let after = start
    let mayHaveMore = true
    // When the pending output was passed to the response; `undefined` once the client has read it.
    let handedAt: number | undefined

    const read = Effect.suspend(() => repo.readAfter(organizationId, resolved, after, BATCH)).pipe(
      Effect.map((rows) => {
        mayHaveMore = rows.length === BATCH
        after = Number(rows.at(-1)?.position ?? after)
        return rows.map((row) => frameOf(idAt(Number(row.position)), row)).join("")
      }),
      // An unavailable database does not end the stream: the client could only reconnect.
      Effect.catchCause((cause) =>
        Effect.logDebug("Reading a live stream failed", cause).pipe(Effect.delay("1 second"), Effect.as("")),
      ),
    )

    const waitFor = (millis: number) =>
      Effect.raceFirst(
        Effect.map(grown, () => void (mayHaveMore = true)),
        Effect.sleep(millis),
      )

    const next = Effect.gen(function* () {
      handedAt = undefined
      for (;;) {
        if (isRemoved()) return undefined
        const at = yield* Clock.currentTimeMillis
        const text = at >= heartbeats.dueAt() ? yield* heartbeats.next : mayHaveMore ? yield* read : ""
        if (text !== "") {
          handedAt = at
          return text
        }
        if (!mayHaveMore) yield* waitFor(heartbeats.dueAt() - at)
      }
    })

    const request = yield* Effect.fiber
    yield* Effect.raceFirst(
      Effect.andThen(shutdown.begun, Effect.sleep(FINAL_FLUSH_TIMEOUT)),
      stalled(() => handedAt, pace),
    ).pipe(Effect.andThen(Effect.sync(() => request.interruptUnsafe())), Effect.forkScoped)

    return Stream.succeed(`retry: ${RECONNECT_MILLIS}\nid: ${idAt(start)}\n\n`).pipe(
      Stream.concat(
        Stream.unfold(undefined, () =>
          Effect.map(next, (text) => (text === undefined ? undefined : [text, undefined])),
        ),
      ),
      Stream.interruptWhen(shutdown.begun),
    )
  })

  return LiveEvents.of({ follow })
})
