/** What a change would do to the decisions on a release, for dry runs. */
import { Context, Effect, Layer } from "effect"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { ReleaseAccessRepo } from "./Repo.ts"
import type { InstancesOf, ReleaseKey } from "./Repo.ts"
import { decideByFacts } from "./Rules.ts"
import type { DecidedRelease } from "./Rules.ts"

export type { DecidedRelease } from "./Rules.ts"
export { notAllowedOf } from "./Deployments.ts"

/** Decides on one release for many instances. */
export class ReleaseImpact extends Context.Service<
  ReleaseImpact,
  {
    /** The decisions for instances, in the order of their ids, at an instant, by the state within the transaction. */
    readonly decisions: (
      organizationId: OrganizationId,
      release: ReleaseKey,
      instances: InstancesOf,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<DecidedRelease>>
  }
>()("keyshelf/usage/releases/ReleaseImpact") {
  static readonly layer = Layer.effect(
    ReleaseImpact,
    Effect.map(ReleaseAccessRepo, (repo) =>
      ReleaseImpact.of({
        decisions: (organizationId, release, instances, at) =>
          Effect.map(repo.ofRelease(organizationId, release, instances), (facts) =>
            facts.map((one) => decideByFacts(one, at)),
          ),
      }),
    ),
  )
}
