/** The open streams of this process, by organization, instance and credential. */
import { Latch } from "effect"
import type { OpenConnection } from "../../../kernel/ports/HeldResponse.ts"
import type { Assignment, FollowRequest, Target } from "./Model.ts"
import { ALL } from "./Rules.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** A stream: a connection, and whom it follows. */
export interface ChangeStream {
  readonly organization: Organization
  readonly request: FollowRequest
  /** `undefined` until the response has begun. */
  connection: OpenConnection | undefined
  /** When it ends by itself, in milliseconds. */
  endsAt: number
  /** The second of the round in which it gets its comment. */
  readonly beat: number
  /** What it has to be sent; `undefined` if nothing waits. */
  waiting: ReadonlyArray<Target> | undefined
  hasEnded: boolean
}

/** An instance that streams name. */
interface FollowedInstance {
  readonly streams: Set<ChangeStream>
  /** `undefined` until it was read, `null` if the instance does not exist. */
  assignment: Assignment | null | undefined
}

/** The streams of an organization. */
export interface Organization {
  readonly id: OrganizationId
  readonly streams: Set<ChangeStream>
  /** Those that follow all instances. */
  readonly unconfined: Set<ChangeStream>
  readonly instances: Map<string, FollowedInstance>
  readonly byCredential: Map<string, Set<ChangeStream>>
  /** Opens when the last stream has left: then this record is no longer used. */
  readonly isEmpty: Latch.Latch
}

const addTo = <K, V>(sets: Map<K, Set<V>>, key: K, value: V): void => {
  const known = sets.get(key)
  if (known === undefined) sets.set(key, new Set([value]))
  else known.add(value)
}

const newOrganization = (id: OrganizationId): Organization => ({
  id,
  streams: new Set(),
  unconfined: new Set(),
  instances: new Map(),
  byCredential: new Map(),
  isEmpty: Latch.makeUnsafe(false),
})

// An instance that was not read yet may belong to anything.
const belongsTo = ({ assignment }: FollowedInstance, of: "license" | "customer" | "zone", slug: string): boolean =>
  assignment === undefined || (assignment !== null && assignment[of] === slug)

const streamsOf = (organization: Organization, target: Target): Iterable<ChangeStream> => {
  if (target.of === "all") return organization.streams
  if (target.of === "instance") {
    return [...(organization.instances.get(target.slug)?.streams ?? []), ...organization.unconfined]
  }
  const { of, slug } = target
  const concerned = [...organization.instances.values()].filter((instance) => belongsTo(instance, of, slug))
  return [...concerned.flatMap(({ streams }) => [...streams]), ...organization.unconfined]
}

/** Keeps streams. All of it is synchronous: a stream is an entry in a few maps. */
export class Registry {
  readonly organizations = new Map<OrganizationId, Organization>()
  #size = 0
  #entered = 0

  /** The number of streams, with those whose response has not begun. */
  get size(): number {
    return this.#size
  }

  /** Adds a stream. Its instances count as unread until {@link assign}. `rounds` is the number of seconds between comments. */
  enter(request: FollowRequest, rounds: number): ChangeStream {
    const { id, organizationId } = request.credential
    const organization = this.organizations.get(organizationId) ?? newOrganization(organizationId)
    const stream: ChangeStream = {
      organization,
      request,
      connection: undefined,
      endsAt: request.endsAt,
      beat: this.#entered++ % rounds,
      waiting: undefined,
      hasEnded: false,
    }
    this.organizations.set(organizationId, organization)
    this.#size++
    organization.streams.add(stream)
    addTo(organization.byCredential, id, stream)
    if (request.instances === undefined) organization.unconfined.add(stream)
    for (const slug of request.instances ?? []) {
      const followed = organization.instances.get(slug) ?? { streams: new Set(), assignment: undefined }
      followed.streams.add(stream)
      organization.instances.set(slug, followed)
    }
    return stream
  }

  /** Removes a stream, once. */
  leave(stream: ChangeStream): void {
    const { organization, request } = stream
    if (!organization.streams.delete(stream)) return
    this.#size--
    stream.hasEnded = true
    stream.waiting = undefined
    organization.unconfined.delete(stream)
    const siblings = organization.byCredential.get(request.credential.id)
    siblings?.delete(stream)
    if (siblings?.size === 0) organization.byCredential.delete(request.credential.id)
    for (const slug of request.instances ?? []) {
      const followed = organization.instances.get(slug)
      followed?.streams.delete(stream)
      if (followed?.streams.size === 0) organization.instances.delete(slug)
    }
    if (organization.streams.size > 0) return
    this.organizations.delete(organization.id)
    organization.isEmpty.openUnsafe()
  }

  /** All streams. They may be removed meanwhile. */
  *all(): Generator<ChangeStream> {
    for (const { streams } of this.organizations.values()) yield* streams
  }

  /** {@link assign} for instances that were not read yet. What the reader has read since is newer. */
  assignUnread(organization: Organization, slugs: ReadonlyArray<string>, found: ReadonlyArray<Assignment>): void {
    const isUnread = (slug: string) => organization.instances.get(slug)?.assignment === undefined
    this.assign(organization, slugs.filter(isUnread), found)
  }

  /** Stores what instances belong to now; those that were not found do not exist. */
  assign(organization: Organization, slugs: Iterable<string>, found: ReadonlyArray<Assignment>): void {
    const assignments = new Map(found.map((assignment) => [assignment.slug, assignment]))
    for (const slug of slugs) {
      const followed = organization.instances.get(slug)
      if (followed !== undefined) followed.assignment = assignments.get(slug) ?? null
    }
  }

  /** The streams that targets concern, each with its targets. */
  concerned(
    organization: Organization,
    targets: ReadonlyArray<Target>,
  ): ReadonlyMap<ChangeStream, ReadonlyArray<Target>> {
    if (targets.some(({ of }) => of === "all")) return new Map([...organization.streams].map((stream) => [stream, ALL]))
    const concerned = new Map<ChangeStream, Array<Target>>()
    for (const target of targets) {
      for (const stream of streamsOf(organization, target)) {
        const own = concerned.get(stream)
        if (own === undefined) concerned.set(stream, [target])
        // A target that reaches a stream through several of its instances counts once.
        else if (own.at(-1) !== target) own.push(target)
      }
    }
    return concerned
  }
}
