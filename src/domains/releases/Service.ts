/** Use cases of releases. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { DeletionBlockers } from "../../kernel/ports/DeletionBlockers.ts"
import { accessChanges } from "./AccessChanges.ts"
import { creation } from "./Creation.ts"
import { DeleteReleaseDeployed, ReleaseNotFound } from "./Errors.ts"
import type { CreateReleaseSlugTaken } from "./Errors.ts"
import type { CreateRelease, Release, ReleaseAccess, ReleaseFilters, UpdateReleaseAccess } from "./Model.ts"
import { ReleasesRepo } from "./Repo.ts"
import type { ReleaseRow } from "./Repo.ts"

const notFound = (slug: string) => new ReleaseNotFound({ detail: noSuch("release", slug) })

/** Creates, reads and deletes releases of the caller's organization. */
export class Releases extends Context.Service<
  Releases,
  {
    /** Creates a release of existing components. The slug is made from the version if the body has none. */
    readonly create: (input: CreateRelease) => Effect.Effect<Release, ValidationFailed | CreateReleaseSlugTaken, Caller>
    /** A release with its components. */
    readonly get: (slug: string) => Effect.Effect<Release, ReleaseNotFound, Caller>
    /** A page of the releases that match all filters, newest first. */
    readonly list: (request: PageRequest & ReleaseFilters) => Effect.Effect<Page<Release>, InvalidCursor, Caller>
    /** Changes who may have a release. The same policy again changes nothing and emits no event. */
    readonly updateAccess: (
      slug: string,
      input: UpdateReleaseAccess,
    ) => Effect.Effect<ReleaseAccess, ValidationFailed | ReleaseNotFound, Caller>
    /** Deletes a release that no deployment zone runs. */
    readonly delete: (slug: string) => Effect.Effect<void, ReleaseNotFound | DeleteReleaseDeployed, Caller>
  }
>()("keyshelf/releases/Releases") {
  static readonly layer = Layer.suspend(() => Layer.effect(Releases, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ReleasesRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const blockers = yield* DeletionBlockers

  /** Adds the components to all rows with one query. */
  const withComponents = Effect.fnUntraced(function* (organizationId: OrganizationId, rows: ReadonlyArray<ReleaseRow>) {
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

  const withOwnComponents = Effect.fnUntraced(function* (organizationId: OrganizationId, row: ReleaseRow) {
    const [release] = yield* withComponents(organizationId, [row])
    return release as Release
  })

  const get = Effect.fn("Releases.get")(function* (slug: string) {
    const { organizationId } = yield* Caller
    const release = yield* repo.findBySlug(organizationId, slug)
    if (Option.isNone(release)) return yield* notFound(slug)
    return yield* withOwnComponents(organizationId, release.value)
  })

  const list = Effect.fn("Releases.list")(function* (request: PageRequest & ReleaseFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    const page = yield* cursors.page(
      { name: "releases", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
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
        const blocking = yield* blockers.find("release", release.value)
        const zone = blocking[0]?.items[0]
        if (zone !== undefined) {
          return yield* new DeleteReleaseDeployed({
            impact: { blocking },
            detail: `The deployment zone "${zone.slug}" runs the release "${slug}". Switch it to another release first.`,
          })
        }
        const record = yield* withOwnComponents(caller.organizationId, release.value)
        yield* repo.delete(caller.organizationId, record.id)
        yield* events.emit(caller, "RELEASE_DELETED", record)
      }),
    )
  })

  return { create: yield* creation, get, list, updateAccess: yield* accessChanges, delete: remove }
})
