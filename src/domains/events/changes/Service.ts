/** Streams of changes: they say that a client should fetch again, and never what (`docs/local-decisions.md`). */
import { Context, Deferred, Effect, Exit, FiberMap, Layer, Metric, Random } from "effect"
import type { Scope } from "effect"
import { makeRequestBatcher } from "../../../kernel/concurrency/RequestBatcher.ts"
import { HeldResponse } from "../../../kernel/ports/HeldResponse.ts"
import { invalidCredential } from "../../../kernel/contract/Problem.ts"
import type { InvalidCredential } from "../../../kernel/contract/Problem.ts"
import { Shutdown } from "../../../kernel/ports/Shutdown.ts"
import { Deliveries } from "./Deliveries.ts"
import { FollowChangesNodeFull, FollowChangesTooManyStreams } from "./Errors.ts"
import { Followers } from "./Followers.ts"
import type { InstanceName } from "./Followers.ts"
import { ChangeStreamLimits } from "./Limits.ts"
import { openStreams, sentFrames, waitingStreams } from "./Metrics.ts"
import type { Assignment, CredentialState, FollowerCredential, FollowRequest } from "./Model.ts"
import { makeReader } from "./Reader.ts"
import type { ReaderContext } from "./Reader.ts"
import { Registry } from "./Registry.ts"
import type { ChangeStream, Organization } from "./Registry.ts"
import { opening, retryMillis } from "./Rules.ts"
import { keepStreams } from "./Upkeep.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** A stream that may begin. */
interface OpenStream {
  /** The body of its response. The stream ends with the connection, with its credential or with this process. */
  readonly body: HeldResponse
  /** Those of the requested instances that do not exist. */
  readonly unknown: ReadonlyArray<string>
}

/** Opens streams of changes. */
export class ChangeStreams extends Context.Service<
  ChangeStreams,
  {
    /**
     * Opens a stream. From its return on, no change is missed. Run it in the scope of the request: a stream whose response has not
     * begun by then is closed.
     */
    readonly follow: (
      request: FollowRequest,
    ) => Effect.Effect<OpenStream, InvalidCredential | FollowChangesTooManyStreams | FollowChangesNodeFull, Scope.Scope>
    /** The number of open streams in this process. */
    readonly open: Effect.Effect<number>
  }
>()("keyshelf/events/ChangeStreams") {
  static readonly layer = Layer.suspend(() => Layer.effect(ChangeStreams, make))
}

/** Looks up what many streams that open at the same time need, in one statement each. */
const makeLookUps = Effect.map(Followers, ({ assignments, live }) => ({
  stateOf: makeRequestBatcher<FollowerCredential, CredentialState | undefined>(
    Effect.fnUntraced(function* (waiting) {
      const states = new Map((yield* live(waiting.map(({ question }) => question))).map((state) => [state.id, state]))
      for (const { answer, question } of waiting) answer(Exit.succeed(states.get(question.id)))
    }),
  ),
  assignmentsOf: makeRequestBatcher<ReadonlyArray<InstanceName>, ReadonlyArray<Assignment>>(
    Effect.fnUntraced(function* (waiting) {
      const found = yield* assignments(waiting.flatMap(({ question }) => question))
      const bySlug = Map.groupBy(found, ({ organizationId, slug }) => `${organizationId} ${slug}`)
      for (const { answer, question } of waiting) {
        const own = question.flatMap(({ organizationId, slug }) => bySlug.get(`${organizationId} ${slug}`) ?? [])
        answer(Exit.succeed(own))
      }
    }),
  ),
}))

/** Rejects a stream beyond the limits. */
const checkLimits = Effect.fnUntraced(function* (
  registry: Registry,
  organizationId: OrganizationId,
  { streamsPerProcess }: ChangeStreamLimits,
) {
  if (registry.size >= streamsPerProcess) {
    return yield* new FollowChangesNodeFull({
      detail: `This node already has ${streamsPerProcess} streams of changes, the maximum. Retry later, or poll.`,
    })
  }
  const perOrganization = Math.max(1, Math.floor(streamsPerProcess / 2))
  if ((registry.organizations.get(organizationId)?.streams.size ?? 0) >= perOrganization) {
    return yield* new FollowChangesTooManyStreams({
      detail: `The organization already has ${perOrganization} streams of changes on this node, the maximum. Retry later, or poll.`,
    })
  }
})

/** Ids are opaque: they do not show how many events an organization has. */
const makeIds = Effect.map(Random.nextIntBetween(2 ** 30, 2 ** 31), (first) => {
  let next = first
  return () => (next++).toString(36)
})

/** Returns what waits until the new events of an organization are read. A reader ends after the last stream. */
const makeReaders = Effect.fnUntraced(function* (context: ReaderContext) {
  const read = yield* makeReader(context)
  const start = yield* FiberMap.makeRuntime<never, Organization>()
  const readers = new WeakMap<Organization, Deferred.Deferred<void>>()
  return (organization: Organization): Effect.Effect<void> => {
    const known = readers.get(organization)
    if (known !== undefined) return Deferred.await(known)
    const ready = Deferred.makeUnsafe<void>()
    readers.set(organization, ready)
    const reading = read(organization, ready).pipe(
      Effect.scoped,
      Effect.onExit((exit) => Deferred.done(ready, exit)),
    )
    start(organization, Effect.raceFirst(reading, organization.isEmpty.await))
    return Deferred.await(ready)
  }
})

/** The steps by which a stream opens. */
interface Opening {
  readonly registry: Registry
  readonly enter: (
    request: FollowRequest,
  ) => Effect.Effect<ChangeStream, FollowChangesTooManyStreams | FollowChangesNodeFull>
  readonly leave: (stream: ChangeStream) => void
  readonly ensureReader: (organization: Organization) => Effect.Effect<void>
  readonly bodyOf: (stream: ChangeStream) => Effect.Effect<HeldResponse>
}

const makeFollow = Effect.fnUntraced(function* ({ bodyOf, ensureReader, enter, leave, registry }: Opening) {
  const { assignmentsOf, stateOf } = yield* makeLookUps
  return Effect.fn("ChangeStreams.follow")(function* (request: FollowRequest) {
    const { credential, instances = [] } = request
    const { organizationId } = credential
    const stream = yield* Effect.acquireRelease(enter(request), (entered) =>
      Effect.sync(() => {
        if (entered.connection === undefined) leave(entered)
      }),
    )
    yield* ensureReader(stream.organization)
    // Read only now: the reader sees what changes afterwards.
    const [state, found] = yield* Effect.all(
      [stateOf(credential), assignmentsOf(instances.map((slug) => ({ organizationId, slug })))],
      { concurrency: 2 },
    )
    if (state === undefined) return yield* invalidCredential()
    stream.endsAt = Math.min(stream.endsAt, state.expiresAt)
    registry.assignUnread(stream.organization, instances, found)
    const known = new Set(found.map(({ slug }) => slug))
    return { body: yield* bodyOf(stream), unknown: instances.filter((slug) => !known.has(slug)) }
  })
})

const make = Effect.gen(function* () {
  const limits = yield* ChangeStreamLimits
  const shutdown = yield* Shutdown
  const metrics = yield* Effect.context()
  const nextId = yield* makeIds
  // Alerts have a value before the first frame.
  yield* Metric.update(sentFrames, 0)
  yield* Effect.forEach([openStreams, waitingStreams], (metric) => Metric.update(metric, 0))
  const registry = new Registry()

  const leave = (stream: ChangeStream) => {
    registry.leave(stream)
    openStreams.updateUnsafe(registry.size, metrics)
  }
  const end = (stream: ChangeStream) => {
    leave(stream)
    stream.connection?.end()
  }
  const write = ({ connection }: ChangeStream, text: string) => {
    // A client that has stopped reading connects again, and misses nothing by it.
    if (connection !== undefined && connection.writableLength > limits.maxUnreadBytes) connection.destroy()
    else connection?.send(text)
  }
  const deliveries = new Deliveries(limits, nextId, write)
  const countFrames = (count: number) => {
    if (count > 0) sentFrames.updateUnsafe(count, metrics)
    waitingStreams.updateUnsafe(deliveries.waiting, metrics)
  }

  const ensureReader = yield* makeReaders({ registry, deliveries, end, countFrames })
  let isStopping = false
  yield* Effect.andThen(
    shutdown.begun,
    Effect.sync(() => {
      isStopping = true
      for (const stream of registry.all()) end(stream)
    }),
  ).pipe(Effect.forkScoped)
  yield* keepStreams({ registry, deliveries, end, write, countFrames })

  const bodyOf = Effect.fnUntraced(function* (stream: ChangeStream) {
    const first = opening(nextId(), retryMillis(registry.size, yield* Random.next))
    return new HeldResponse((connection) => {
      connection.once("close", () => leave(stream))
      connection.send(first)
      if (stream.hasEnded || isStopping) connection.end()
      else stream.connection = connection
    })
  })

  const enter = Effect.fnUntraced(function* (request: FollowRequest) {
    yield* checkLimits(registry, request.credential.organizationId, limits)
    const stream = registry.enter(request, limits.commentSeconds)
    openStreams.updateUnsafe(registry.size, metrics)
    return stream
  })

  const follow = yield* makeFollow({ registry, enter, leave, ensureReader, bodyOf })
  return ChangeStreams.of({ follow, open: Effect.sync(() => registry.size) })
})
