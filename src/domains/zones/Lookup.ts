/** Finds and locks zones by slug. */
import { Effect, Option } from "effect"
import { noSuch } from "../../kernel/contract/Problem.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { DeploymentZoneNotFound } from "./Errors.ts"
import type { DeploymentZone } from "./Model.ts"
import { DeploymentZonesRepo } from "./Repo.ts"

export const lookup = Effect.map(DeploymentZonesRepo, (repo) => {
  const required = Effect.fnUntraced(function* (found: Effect.Effect<Option.Option<DeploymentZone>>, slug: string) {
    const zone = yield* found
    if (Option.isSome(zone)) return zone.value
    return yield* new DeploymentZoneNotFound({ detail: noSuch("deployment zone", slug) })
  })

  return {
    find: (organizationId: OrganizationId, slug: string) => required(repo.findBySlug(organizationId, slug), slug),
    /** Until the transaction ends, no other changes the zone, and no instance begins to use it. */
    lock: (organizationId: OrganizationId, slug: string) => required(repo.lockBySlug(organizationId, slug), slug),
  }
})
