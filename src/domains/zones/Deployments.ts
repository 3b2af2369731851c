/** Deploys releases to zones. */
import { Effect, Option } from "effect"
import type { Caller } from "../../kernel/contract/Caller.ts"
import { CurrentDryRun } from "../../kernel/contract/dryruns/DryRun.ts"
import { affectedOf, MAX_COUNTED, MAX_SHOWN, namedTo } from "../../kernel/contract/dryruns/Impact.ts"
import { failWithErrors, invalid, withErrors } from "../../kernel/contract/Problem.ts"
import { allows } from "../../kernel/contract/Scope.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Events } from "../events/Service.ts"
import { UpdateDeploymentZoneReleaseNotAllowed } from "./Errors.ts"
import type { Deployment, DeploymentZone, ReleaseNames } from "./Model.ts"
import { NotAllowedInstances } from "./NotAllowedInstances.ts"
import type { NotAllowed } from "./NotAllowedInstances.ts"
import { DeploymentZonesRepo } from "./Repo.ts"
import type { RunRelease } from "./Repo.ts"
import { namedRelease, slugMismatch } from "./Rules.ts"

/** The release that a zone runs, as its record has it. */
export const runs = (release: RunRelease | null) => ({
  releaseId: release?.id ?? null,
  releaseSlug: release?.slug ?? null,
})

export const deploying = Effect.gen(function* () {
  const repo = yield* DeploymentZonesRepo
  const events = yield* Events
  const instances = yield* NotAllowedInstances

  /**
   * The release that the body names; `null` for none, `undefined` if it names the current one. Locks it, shared: it cannot be deleted
   * before the transaction ends.
   */
  const lockRelease = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    current: Pick<DeploymentZone, "releaseId" | "releaseSlug">,
    input: ReleaseNames,
  ) {
    const named = yield* Effect.fromResult(namedRelease(current, input)).pipe(
      Effect.mapError((errors) => withErrors(errors)),
    )
    if (named == null) return named
    const { property, value } = named
    const kind = property === "releaseId" ? "id" : "slug"
    const found = yield* repo.lockRelease(organizationId, kind, value)
    if (Option.isNone(found)) {
      return yield* invalid(`body.${property}`, `must be the ${kind} of an existing release`, value)
    }
    const release = found.value
    if ("slug" in named && named.slug !== undefined && named.slug !== release.slug) {
      yield* failWithErrors([slugMismatch(named.slug)])
    }
    return release.id === current.releaseId ? undefined : release
  })

  /** The instances of a locked zone that may not have a release. A zone that refuses such releases rejects the deployment. */
  const requireAllowed = Effect.fnUntraced(function* (
    caller: Caller["Service"],
    zone: DeploymentZone,
    release: RunRelease,
  ) {
    const isRefused = zone.releaseAccess === "REFUSE"
    const found = yield* instances.first(
      caller.organizationId,
      { zoneId: zone.id, releaseId: release.id },
      isRefused ? MAX_COUNTED + 1 : MAX_SHOWN,
    )
    if (isRefused && found.length > 0) {
      const notAllowed = affectedOf(found.map(({ instanceSlug: slug, reason }) => ({ slug, reason })))
      return yield* new UpdateDeploymentZoneReleaseNotAllowed({
        impact: { notAllowed: namedTo(caller, notAllowed) },
        detail: `The deployment zone "${zone.slug}" refuses releases that its instances may not have, and ${notAllowed.count} of them may not have "${release.slug}". Change the access of the release or the instances, or set releaseAccess to WARN.`,
      })
    }
    // A dry run shows its events to the caller, who may not read instances.
    return (yield* CurrentDryRun) !== undefined && !allows(caller.scopes, "read:instances") ? [] : found
  })

  /**
   * Adds an entry to the zone's history. The id is generated while the zone is locked: the newest entry is always the
   * release that the zone runs.
   */
  const recordDeployment = Effect.fnUntraced(function* (
    caller: Caller["Service"],
    zone: DeploymentZone,
    release: RunRelease,
    notAllowed: ReadonlyArray<NotAllowed>,
  ) {
    const deployment: Deployment = {
      id: yield* newId,
      releaseId: release.id,
      releaseSlug: release.slug,
      releaseVersion: release.version,
      deployedAt: zone.updatedAt,
      deployedBy: caller.actor,
    }
    yield* repo.insertDeployment(caller.organizationId, zone.id, deployment)
    yield* events.emit(caller, "RELEASE_DEPLOYED", {
      ...deployment,
      deploymentZoneId: zone.id,
      deploymentZoneSlug: zone.slug,
      notAllowed,
    })
  })

  return { lockRelease, requireAllowed, recordDeployment }
})
