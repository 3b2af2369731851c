/** The port by which zones read which instances may not have a release. The domain `usage` provides it. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { ReleaseReason } from "../releases/Model.ts"

/** An instance that may not have a release, and why. */
export interface NotAllowed {
  readonly instanceSlug: string
  readonly reason: ReleaseReason
}

/** A release that a zone would run. */
interface PlannedDeployment {
  readonly zoneId: string
  readonly releaseId: string
}

/** Reads the instances of a zone that may not have a release. */
export class NotAllowedInstances extends Context.Service<
  NotAllowedInstances,
  {
    /** The first of them, in the order of their ids, up to a count. None if the release is not offered. */
    readonly first: (
      organizationId: OrganizationId,
      deployment: PlannedDeployment,
      count: number,
    ) => Effect.Effect<ReadonlyArray<NotAllowed>>
  }
>()("keyshelf/zones/NotAllowedInstances") {}
