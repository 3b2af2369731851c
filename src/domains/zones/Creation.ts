/** Creates deployment zones. */
import { Effect } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { insertWithFreeSlug, slugify } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import { MetadataValues } from "../metadata/MetadataValues.ts"
import { deploying, runs } from "./Deployments.ts"
import { CreateDeploymentZoneSlugTaken } from "./Errors.ts"
import type { CreateDeploymentZone, DeploymentZone } from "./Model.ts"
import { DeploymentZonesRepo } from "./Repo.ts"

export const creation = Effect.gen(function* () {
  const repo = yield* DeploymentZonesRepo
  const metadataValues = yield* MetadataValues
  const events = yield* Events
  const transactions = yield* Transactions
  const { lockRelease, recordDeployment } = yield* deploying

  return Effect.fn("DeploymentZones.create")(function* (input: CreateDeploymentZone) {
    const caller = yield* Caller
    const at = yield* now
    const zone = {
      id: yield* newId,
      name: input.name,
      description: input.description ?? null,
      type: input.type,
      metadata: input.metadata ?? {},
      releaseAccess: input.releaseAccess ?? "WARN",
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* metadataValues.check(caller.organizationId, "DEPLOYMENT_ZONE", {}, zone.metadata)
        const release = yield* lockRelease(caller.organizationId, runs(null), input)
        const unnamed = { ...zone, ...runs(release ?? null) }
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "deployment-zone"),
          insert: (slug) => repo.insert(caller.organizationId, { ...unnamed, slug }),
          taken: (slug) =>
            new CreateDeploymentZoneSlugTaken({
              detail: `Another deployment zone has the slug "${slug}". Choose a different slug.`,
            }),
        })
        const record: DeploymentZone = { ...unnamed, slug }
        yield* events.emit(caller, "DEPLOYMENT_ZONE_CREATED", record)
        // No instance is in a new zone, so none may not have the release.
        if (release != null) yield* recordDeployment(caller, record, release, [])
        return record
      }),
    )
  })
})
