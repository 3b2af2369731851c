/**
 * Streams of changes at an edge. They pass on what the stream of their credential says, and end with it: what is behind the edge then
 * knows that it may miss something.
 */
import { Effect, Layer, Random } from "effect"
import { FollowChangesNodeFull } from "../../domains/events/changes/Errors.ts"
import { ChangeStreamLimits } from "../../domains/events/changes/Limits.ts"
import type { FollowRequest, Target } from "../../domains/events/changes/Model.ts"
import { COMMENT, dataOf, frame, opening, retryMillis } from "../../domains/events/changes/Rules.ts"
import { ChangeStreams } from "../../domains/events/changes/Service.ts"
import { invalidCredential } from "../../kernel/contract/Problem.ts"
import { HeldResponse } from "../../kernel/ports/HeldResponse.ts"
import type { OpenConnection } from "../../kernel/ports/HeldResponse.ts"
import { Shutdown } from "../../kernel/ports/Shutdown.ts"
import { EdgeClock } from "../Clock.ts"
import type { Credential } from "../credentials/Credential.ts"
import { Edge } from "../Edge.ts"
import type { ChangeFeed } from "../origin/ChangeFeed.ts"

/** How long a client waits for the stream to the origin. */
const OPENING = "5 seconds"

/** Waits until the stream of a credential is open. */
const opened = (feed: ChangeFeed): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    const leave = feed.follow({ opened: done, changed: done, comment: done, ended: () => undefined })
    return Effect.sync(leave)
  })

const notOpen = new FollowChangesNodeFull({
  detail: "This edge has no stream of changes from its origin. Retry later, or poll.",
})

const makeIds = Effect.map(Random.nextIntBetween(2 ** 30, 2 ** 31), (first) => {
  let next = first
  return () => (next++).toString(36)
})

interface Body {
  readonly credential: Credential
  readonly request: FollowRequest
  readonly first: string
  readonly concerns: (target: Target) => boolean
}

const make = Effect.gen(function* () {
  const { credentials, instances } = yield* Edge
  const { maxUnreadBytes, streamsPerProcess } = yield* ChangeStreamLimits
  const shutdown = yield* Shutdown
  const clock = yield* EdgeClock
  const nextId = yield* makeIds
  const connections = new Set<OpenConnection>()

  yield* Effect.andThen(
    shutdown.begun,
    Effect.sync(() => connections.forEach((connection) => connection.end())),
  ).pipe(Effect.forkScoped)

  const send = (connection: OpenConnection, text: string): void => {
    // A client that has stopped reading connects again, and misses nothing by it.
    if (connection.writableLength > maxUnreadBytes) connection.destroy()
    else connection.send(text)
  }

  const bodyOf = ({ concerns, credential: { feed }, first, request: { endsAt } }: Body) =>
    new HeldResponse((connection) => {
      connections.add(connection)
      connection.send(first)
      const leave = feed.follow({
        opened: () => undefined,
        comment: () => send(connection, COMMENT),
        changed: (target) => {
          if (concerns(target)) send(connection, frame(nextId(), dataOf(target)))
        },
        ended: () => connection.end(),
      })
      const remaining = endsAt - clock.wall()
      const cancel = Number.isFinite(endsAt) ? clock.after(remaining, () => connection.end()) : undefined
      connection.once("close", () => {
        connections.delete(connection)
        cancel?.()
        leave()
      })
      if (!feed.isOpen) connection.end()
    })

  const follow = Effect.fn("EdgeStreams.follow")(function* (request: FollowRequest) {
    const credential = credentials.byId(request.credential.id)
    if (credential === undefined || credential.state.isDenied) return yield* invalidCredential()
    if (connections.size >= streamsPerProcess) {
      return yield* new FollowChangesNodeFull({
        detail: `This edge already has ${streamsPerProcess} streams of changes, the maximum. Retry later, or poll.`,
      })
    }
    yield* opened(credential.feed).pipe(
      Effect.timeout(OPENING),
      Effect.catchTag("TimeoutError", () => Effect.fail(notOpen)),
    )
    const slugs = request.instances
    const concerns = (target: Target): boolean =>
      slugs === undefined || slugs.some((slug) => instances.concerns(credential, slug, target))
    const first = opening(nextId(), retryMillis(connections.size, yield* Random.next))
    return { body: bodyOf({ credential, request, first, concerns }), unknown: [] }
  })

  return ChangeStreams.of({ follow, open: Effect.sync(() => connections.size) })
})

export const layer = Layer.effect(ChangeStreams, make)
