/** What changes of releases and zones do to the decisions on releases. */
import { Context, Effect, Layer, Predicate } from "effect"
import { affectedOf, namedTo } from "../../kernel/contract/dryruns/Impact.ts"
import type { DeploymentImpact } from "../../kernel/contract/dryruns/Impact.ts"
import type { ReleaseAccessImpact } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { notAllowedOf, ReleaseImpact } from "../usage/releases/Impact.ts"
import type { DecidedRelease } from "../usage/releases/Impact.ts"
import type { Impact } from "./Model.ts"
import { readPages } from "./Pages.ts"

/** The time limit for reading the state after the change, and again for the state before it. */
const MAX_MS = 1_000

const turningBetween = (before: ReadonlyArray<DecidedRelease>, after: ReadonlyArray<DecidedRelease>) => {
  const later = new Map(after.map((decided) => [decided.facts.instanceId, decided]))
  return before.flatMap(({ allowed, facts, reason }) => {
    const changed = later.get(facts.instanceId)
    return changed === undefined || changed.allowed === allowed
      ? []
      : [{ slug: facts.instance, reason: { before: reason, after: changed.reason } }]
  })
}

/** Finds the instances that may have a release afterwards and may not now, and those of a zone that may not have its release. */
export class ReleaseImpacts extends Context.Service<
  ReleaseImpacts,
  {
    /** The instances for which a change of a release's policy turns the decision. */
    readonly access: Impact
    /** The instances of a zone that may not have the release that a change deploys. */
    readonly deployment: Impact
  }
>()("keyshelf/impact/ReleaseImpacts") {
  static readonly layer = Layer.suspend(() => Layer.effect(ReleaseImpacts, make))
}

const make = Effect.gen(function* () {
  const { decisions } = yield* ReleaseImpact

  const access: Impact = Effect.fnUntraced(function* ({ caller, params }) {
    const { organizationId } = caller
    const at = yield* now
    const release = { slug: params["releaseSlug"] ?? "" }
    const { found: pages, isComplete } = yield* readPages(
      (last: DecidedRelease | undefined, count) =>
        decisions(organizationId, release, { after: last?.facts.instanceId ?? null, count }, at),
      (page) => Effect.succeed([page]),
      MAX_MS,
    )
    return Effect.gen(function* () {
      const turning = yield* Effect.forEach(pages, (after) =>
        Effect.map(
          decisions(organizationId, release, { ids: after.map(({ facts }) => facts.instanceId) }, at),
          (before) => turningBetween(before, after),
        ),
      )
      const impact: ReleaseAccessImpact = { releases: namedTo(caller, affectedOf(turning.flat(), isComplete)) }
      return impact
    })
  })

  const deployment: Impact = Effect.fnUntraced(function* ({ caller, events }) {
    const at = yield* now
    const deployed = events.find(({ type }) => type === "RELEASE_DEPLOYED")?.data
    const [id, zoneId] = [deployed?.["releaseId"], deployed?.["deploymentZoneId"]]
    const { found, isComplete } =
      Predicate.isString(id) && Predicate.isString(zoneId)
        ? yield* readPages(
            (last: DecidedRelease | undefined, count) =>
              decisions(caller.organizationId, { id }, { after: last?.facts.instanceId ?? null, count, zoneId }, at),
            (page) => Effect.succeed(notAllowedOf(page).map(({ instanceSlug: slug, reason }) => ({ slug, reason }))),
            MAX_MS,
          )
        : { found: [], isComplete: true }
    const impact: DeploymentImpact = { notAllowed: namedTo(caller, affectedOf(found, isComplete)) }
    return Effect.succeed(impact)
  })

  return { access, deployment }
})
