/** What an instance may have of the offered releases. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors, filtersOf } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest, Position } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor } from "../../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { Instances } from "../../instances/Service.ts"
import { ReleaseNotFound } from "../../releases/Errors.ts"
import type { InstanceRelease, InstanceReleaseFilters } from "./Model.ts"
import { positionOf, ReleaseAccessRepo } from "./Repo.ts"
import { decideByFacts, explanationOf } from "./Rules.ts"
import type { DecidedRelease } from "./Rules.ts"

/** How many releases are decided at once, after the first ones of a page. */
const BATCH = 1_000

/** Decides which releases an instance of the caller's organization may have. */
export class InstanceReleases extends Context.Service<
  InstanceReleases,
  {
    /** Whether an instance may have a release now. A release that is not offered does not exist for a caller confined to an instance. */
    readonly get: (
      instanceSlug: string,
      releaseSlug: string,
    ) => Effect.Effect<InstanceRelease, InstanceNotFound | ReleaseNotFound, Caller>
    /** A page of the offered releases, those released last first: by default those that the instance may have. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest & InstanceReleaseFilters,
    ) => Effect.Effect<Page<InstanceRelease>, InstanceNotFound | InvalidCursor, Caller>
  }
>()("keyshelf/usage/releases/InstanceReleases") {
  static readonly layer = Layer.suspend(() => Layer.effect(InstanceReleases, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ReleaseAccessRepo
  const instances = yield* Instances
  const cursors = yield* Cursors

  /** Adds the components to all decisions with one query. */
  const shown = Effect.fnUntraced(function* (organizationId: OrganizationId, decided: ReadonlyArray<DecidedRelease>) {
    const found = yield* repo.componentsOf(
      organizationId,
      decided.map(({ facts }) => facts.releaseId),
    )
    const components = new Map(found.map((row) => [row.releaseId, row.components]))
    return decided.map((decision): InstanceRelease => {
      const { allowed, facts, missing, reason } = decision
      const { description, endMaintenanceDate, release: slug, releaseId, releasedAt, version, withdrawnReason } = facts
      return {
        release: {
          slug,
          version,
          description,
          releasedAt,
          withdrawnReason,
          components: components.get(releaseId) ?? [],
        },
        allowed,
        reason,
        missing,
        endMaintenanceDate,
        explanation: explanationOf(decision),
      }
    })
  })

  const get = Effect.fn("InstanceReleases.get")(function* (instanceSlug: string, releaseSlug: string) {
    const { confinedTo, organizationId } = yield* Caller
    const facts = yield* repo.one(organizationId, instanceSlug, releaseSlug)
    if (Option.isNone(facts)) yield* instances.get(instanceSlug)
    if (Option.isNone(facts) || (confinedTo !== undefined && !facts.value.offered)) {
      return yield* new ReleaseNotFound({ detail: noSuch("release", releaseSlug) })
    }
    const [decided] = yield* shown(organizationId, [decideByFacts(facts.value, yield* now)])
    return decided as InstanceRelease
  })

  const list = Effect.fn("InstanceReleases.list")(function* (
    instanceSlug: string,
    request: PageRequest & InstanceReleaseFilters,
  ) {
    const { organizationId } = yield* Caller
    const { id } = yield* instances.get(instanceSlug)
    const { allowed = "true", ...filters } = filtersOf(request)
    const at = yield* now
    const isListed = (decided: DecidedRelease) => allowed === "any" || decided.allowed === (allowed === "true")
    /** Decides batch by batch until the page is full. The first batch is as long as the page: mostly all of it is listed. */
    const read = Effect.fnUntraced(function* (after: Position | null, count: number) {
      const listed: Array<DecidedRelease> = []
      let position = after
      for (let size = count; ; size = BATCH) {
        const facts = yield* repo.ofInstance(organizationId, id, filters, position, size)
        const last = facts.at(-1)
        listed.push(...facts.map((one) => decideByFacts(one, at)).filter(isListed))
        if (last === undefined || facts.length < size || listed.length >= count) return listed.slice(0, count)
        position = positionOf(last)
      }
    })
    const page = yield* cursors.page(
      { name: `instances/${id}/releases`, organizationId, filters: { ...filters, allowed } },
      request,
      read,
      ({ facts }) => positionOf(facts),
    )
    return { ...page, items: yield* shown(organizationId, page.items) }
  })

  return { get, list }
})
