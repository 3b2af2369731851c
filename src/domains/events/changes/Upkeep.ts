/** What all streams share: one timer for frames that wait, comments and ends, and a check of their credentials each minute. */
import { Array as Arr, Clock, Effect } from "effect"
import type { Deliveries } from "./Deliveries.ts"
import { Followers } from "./Followers.ts"
import { ChangeStreamLimits } from "./Limits.ts"
import type { ChangeStream, Registry } from "./Registry.ts"
import { COMMENT } from "./Rules.ts"

const TICK = "100 millis"
const TICKS_PER_SECOND = 10

/** How many streams at most have their credentials verified by one statement. */
const MAX_VERIFIED = 1000

interface UpkeepContext {
  readonly registry: Registry
  readonly deliveries: Deliveries
  readonly end: (stream: ChangeStream) => void
  readonly write: (stream: ChangeStream, text: string) => void
  readonly countFrames: (count: number) => void
}

/** Keeps the streams of this process until the scope closes. */
export const keepStreams = Effect.fnUntraced(function* (context: UpkeepContext) {
  const { countFrames, deliveries, end, registry, write } = context
  const { commentSeconds, verificationMillis } = yield* ChangeStreamLimits
  const followers = yield* Followers
  let ticks = 0

  /** Each second, a part of the streams gets its comment, so that no second has them all. */
  const eachSecond = (second: number, at: number) => {
    for (const stream of registry.all()) {
      if (stream.endsAt <= at) end(stream)
      else if (stream.beat === second % commentSeconds) write(stream, COMMENT)
    }
  }

  const tick = Effect.map(Clock.currentTimeMillis, (at) => {
    countFrames(deliveries.send(at))
    if (++ticks % TICKS_PER_SECOND === 0) eachSecond(ticks / TICKS_PER_SECOND, at)
  })

  const verify = Effect.fnUntraced(function* (streams: ReadonlyArray<ChangeStream>) {
    const credentials = new Map(streams.map(({ request: { credential } }) => [credential.id, credential]))
    const live = yield* followers.live([...credentials.values()])
    const expiries = new Map(live.map(({ expiresAt, id }) => [id, expiresAt]))
    for (const stream of streams) {
      const expiresAt = expiries.get(stream.request.credential.id)
      if (expiresAt === undefined) end(stream)
      else stream.endsAt = Math.min(stream.request.endsAt, expiresAt)
    }
  })

  /** Ends streams whose credentials ended without an event, such as those of a removed organization. */
  const verifyAll = Effect.suspend(() =>
    Effect.forEach(Arr.chunksOf([...registry.all()], MAX_VERIFIED), verify, { discard: true }),
  ).pipe(
    // While the database is unavailable, no credential is known to have ended.
    Effect.catchCause((cause) => Effect.logDebug("Verifying the credentials of streams failed", cause)),
  )

  yield* tick.pipe(Effect.delay(TICK), Effect.forever, Effect.forkScoped)
  yield* verifyAll.pipe(Effect.delay(verificationMillis), Effect.forever, Effect.forkScoped)
})
