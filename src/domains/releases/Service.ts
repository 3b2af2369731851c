/** Use cases of releases. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch, failWithErrors } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { CreateReleaseSlugTaken, DeleteReleaseDeployed, ReleaseNotFound } from "./Errors.ts"
import type { CreateRelease, Release } from "./Model.ts"
import { ReleasesRepo } from "./Repo.ts"
import type { ReleaseRow } from "./Repo.ts"
import { repeatedComponentErrors, unknownComponentErrors } from "./Rules.ts"
import type { ValidationFailed, InvalidCursor } from "../../kernel/contract/Problem.ts"

const notFound = (slug: string) => new ReleaseNotFound({ detail: noSuch("release", slug) })

const rejectIfAny = (errors: ReadonlyArray<ValidationError>) =>
  failWithErrors(errors, "`componentIds` must contain ids of existing components, each only once.")

/** Creates, reads and deletes releases of the caller's organization. */
export class Releases extends Context.Service<
  Releases,
  {
    /** ??? */
    readonly create: (input: CreateRelease) => Effect.Effect<Release, ValidationFailed | CreateReleaseSlugTaken, Caller>
    /** ??? */
    readonly get: (slug: string) => Effect.Effect<Release, ReleaseNotFound, Caller>
    /** ??? */
    readonly list: (request: PageRequest) => Effect.Effect<
      {
        readonly items: Release[]
        readonly hasMore: boolean
        readonly nextCursor: string
      },
      InvalidCursor,
      Caller
    >
    /** ??? */
    readonly delete: (slug: string) => Effect.Effect<void, ReleaseNotFound | DeleteReleaseDeployed, Caller>
  }
>()("keyshelf/releases/Releases") {
  static readonly layer = Layer.effect(
    Releases,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* ReleasesRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  /** Adds the components to all rows with one query. */
  const withComponents = Effect.fnUntraced(function* (organizationId: string, rows: ReadonlyArray<ReleaseRow>) {
    const linked = yield* repo.componentsOf(
      organizationId,
      rows.map((row) => row.id),
    )
    const byRelease = Map.groupBy(linked, (component) => component.releaseId)
    return rows.map((row): Release => {
      const components = (byRelease.get(row.id) ?? []).map(({ releaseId: _, ...component }) => component)
      return { ...row, componentIds: components.map((component) => component.id), components }
    })
  })

  const withOwnComponents = Effect.fnUntraced(function* (organizationId: string, row: ReleaseRow) {
    const [release] = yield* withComponents(organizationId, [row])
    return release as Release
  })

  const create = Effect.fn("Releases.create")(function* (input: CreateRelease) {
    const caller = yield* Caller
    const componentIds = (input.componentIds ?? []).map((id) => id.toLowerCase())
    yield* rejectIfAny(repeatedComponentErrors(componentIds))
    const release = {
      id: yield* newId,
      version: input.version,
      description: input.description ?? null,
      createdAt: yield* now,
      createdBy: caller.actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        const locked = yield* repo.lockComponents(caller.organizationId, componentIds)
        const found = new Map(locked.map((component) => [component.id, component]))
        yield* rejectIfAny(unknownComponentErrors(componentIds, new Set(found.keys())))
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.version, "release"),
          insert: (slug) => repo.insert(caller.organizationId, { ...release, slug }),
          taken: (slug) =>
            new CreateReleaseSlugTaken({ detail: `Another release has the slug "${slug}". Choose a different slug.` }),
        })
        yield* repo.link(caller.organizationId, release.id, componentIds)
        const components = componentIds.flatMap((id) => found.get(id) ?? [])
        const record: Release = { ...release, slug, componentIds, components }
        yield* events.emit(caller, "RELEASE_CREATED", record)
        return record
      }),
    )
  })

  const get = Effect.fn("Releases.get")(function* (slug: string) {
    const { organizationId } = yield* Caller
    const release = yield* repo.findBySlug(organizationId, slug)
    if (Option.isNone(release)) return yield* notFound(slug)
    return yield* withOwnComponents(organizationId, release.value)
  })

  const list = Effect.fn("Releases.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    const page = yield* cursors.page(
      { name: "releases", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
    return { ...page, items: yield* withComponents(organizationId, page.items) }
  })

  const remove = Effect.fn("Releases.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const release = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(release)) return yield* notFound(slug)
        const zones = yield* repo.zonesOn(caller.organizationId, release.value.id)
        const [zone] = zones.items
        if (zone !== undefined) {
          return yield* new DeleteReleaseDeployed({
            impact: { blocking: [{ kind: "deploymentZones", ...zones }] },
            detail: `The deployment zone "${zone.slug}" runs the release "${slug}". Switch it to another release first.`,
          })
        }
        const record = yield* withOwnComponents(caller.organizationId, release.value)
        yield* repo.delete(caller.organizationId, record.id)
        yield* events.emit(caller, "RELEASE_DELETED", record)
      }),
    )
  })

  return { create, get, list, delete: remove }
})
