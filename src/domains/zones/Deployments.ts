/** Deploys releases to zones. */
import { Effect, Option } from "effect"
import { invalid } from "../../kernel/contract/Problem.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Events } from "../events/Service.ts"
import type { EventSource } from "../events/Service.ts"
import type { Deployment, DeploymentZone } from "./Model.ts"
import { DeploymentZonesRepo } from "./Repo.ts"
import type { RunRelease } from "./Repo.ts"

export const deploying = Effect.gen(function* () {
  const repo = yield* DeploymentZonesRepo
  const events = yield* Events

  /** Locks the release that the body names, shared: it cannot be deleted before the transaction ends. */
  const lockRelease = Effect.fnUntraced(function* (organizationId: OrganizationId, id: string) {
    const release = yield* repo.lockRelease(organizationId, id)
    return Option.isSome(release)
      ? release.value
      : yield* invalid("body.releaseId", "must be the id of an existing release", id)
  })

  /**
   * Adds an entry to the zone's history. The id is generated while the zone is locked: the newest entry is always the
   * release that the zone runs.
   */
  const recordDeployment = Effect.fnUntraced(function* (
    source: EventSource,
    zone: DeploymentZone,
    release: RunRelease,
  ) {
    const deployment: Deployment = {
      id: yield* newId,
      releaseId: release.id,
      releaseSlug: release.slug,
      releaseVersion: release.version,
      deployedAt: zone.updatedAt,
      deployedBy: source.actor,
    }
    yield* repo.insertDeployment(source.organizationId, zone.id, deployment)
    yield* events.emit(source, "RELEASE_DEPLOYED", {
      ...deployment,
      deploymentZoneId: zone.id,
      deploymentZoneSlug: zone.slug,
    })
  })

  return { lockRelease, recordDeployment }
})
