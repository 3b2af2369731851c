/** Reads what is new in an organization once for all of its streams on this node. */
import { Clock, Deferred, Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { EventSubscribers } from "../StreamSubscribers.ts"
import type { Deliveries } from "./Deliveries.ts"
import { Followers } from "./Followers.ts"
import type { Change, Target } from "./Model.ts"
import type { ChangeStream, Organization, Registry } from "./Registry.ts"
import { ChangesRepo } from "./Repo.ts"
import { changeOf, distinct } from "./Rules.ts"

const BATCH = 500

/** What readers work on. */
export interface ReaderContext {
  readonly registry: Registry
  readonly deliveries: Deliveries
  readonly end: (stream: ChangeStream) => void
  readonly countFrames: (count: number) => void
}

/** Reads for the streams of an organization until it is interrupted, or the organization is removed. */
type Reader = (organization: Organization, ready: Deferred.Deferred<void>) => Effect.Effect<void, never, Scope.Scope>

const targetOf = (change: Change): ReadonlyArray<Target> => {
  if (change.of === "instances") return [change.target]
  return change.of === "credential" ? [] : [{ of: "instance", slug: change.slug }]
}

/** Whether a stream follows instances, and all of them were deleted. */
const followsNothing = ({ instances }: Organization, { request }: ChangeStream): boolean =>
  request.instances?.every((slug) => instances.get(slug)?.assignment === null) ?? false

/** Returns what reads for an organization. */
export const makeReader = Effect.fnUntraced(function* (context: ReaderContext) {
  const { countFrames, deliveries, end, registry } = context
  const repo = yield* ChangesRepo
  const followers = yield* Followers
  const subscribers = yield* EventSubscribers

  const endCredential = (organization: Organization, id: string, endsAt: number | undefined) => {
    for (const stream of organization.byCredential.get(id) ?? []) {
      if (endsAt === undefined) end(stream)
      else stream.endsAt = Math.min(stream.endsAt, endsAt)
    }
  }

  /** Reads again what instances belong to. */
  const reassign = Effect.fnUntraced(function* (organization: Organization, slugs: ReadonlyArray<string>) {
    const followed = slugs.filter((slug) => organization.instances.has(slug))
    if (followed.length === 0) return
    const names = followed.map((slug) => ({ organizationId: organization.id, slug }))
    registry.assign(organization, followed, yield* followers.assignments(names))
  })

  /** A stream of only deleted instances has nothing to say; that of a license key ends with the key. */
  const endDeleted = (organization: Organization, slug: string) => {
    const followed = organization.instances.get(slug)
    if (followed === undefined || followed.assignment !== null) return
    for (const stream of followed.streams) if (followsNothing(organization, stream)) end(stream)
  }

  const apply = Effect.fnUntraced(function* (organization: Organization, changes: ReadonlyArray<Change>) {
    const renewed = changes.flatMap((change) =>
      change.of === "assignment" || change.of === "removal" ? [change.slug] : [],
    )
    yield* reassign(organization, [...new Set(renewed)])
    for (const change of changes) {
      if (change.of === "credential") endCredential(organization, change.id, change.endsAt)
      if (change.of === "removal") endDeleted(organization, change.slug)
    }
    const concerned = registry.concerned(organization, distinct(changes.flatMap(targetOf)))
    countFrames(deliveries.add(organization, concerned, yield* Clock.currentTimeMillis))
  })

  const readNew = Effect.fnUntraced(function* (organization: Organization, after: number) {
    let position = after
    for (;;) {
      const events = yield* repo.readAfter(organization.id, position, BATCH)
      const changes = events.flatMap((event) => changeOf(event) ?? [])
      if (changes.length > 0) yield* apply(organization, changes)
      position = events.at(-1)?.position ?? position
      if (events.length < BATCH) return position
    }
  })

  const read: Reader = Effect.fnUntraced(function* (organization, ready) {
    const { grown, head, isRemoved } = yield* subscribers.watch(organization.id)
    let position = head
    yield* Deferred.succeed(ready, undefined)
    while (!isRemoved()) {
      yield* grown
      // Streams stay open while the database is unavailable. A frame that is sent twice costs its clients a fetch.
      position = yield* readNew(organization, position).pipe(
        Effect.tapCause((cause) => Effect.logDebug("Reading changes failed", cause)),
        Effect.sandbox,
        Effect.retry(Schedule.spaced("1 second")),
        Effect.orDie,
      )
    }
    for (const stream of organization.streams) end(stream)
  })
  return read
})
