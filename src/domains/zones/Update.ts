/** Updates deployment zones, and deploys the releases that they switch to. */
import { Effect } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import { MetadataValues } from "../metadata/MetadataValues.ts"
import { deploying, runs } from "./Deployments.ts"
import { lookup } from "./Lookup.ts"
import { UpdateDeploymentZone } from "./Model.ts"
import type { DeploymentZone } from "./Model.ts"
import { DeploymentZonesRepo } from "./Repo.ts"

export const updating = Effect.gen(function* () {
  const repo = yield* DeploymentZonesRepo
  const metadataValues = yield* MetadataValues
  const events = yield* Events
  const transactions = yield* Transactions
  const zones = yield* lookup
  const { lockRelease, recordDeployment, requireAllowed } = yield* deploying

  return Effect.fn("DeploymentZones.update")(function* (slug: string, input: UpdateDeploymentZone) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* zones.lock(caller.organizationId, slug)
        yield* requireUnchanged(UpdateDeploymentZone, current, input)
        const metadata = input.metadata === undefined ? current.metadata : (input.metadata ?? {})
        yield* metadataValues.check(caller.organizationId, "DEPLOYMENT_ZONE", current.metadata, metadata)
        const release = yield* lockRelease(caller.organizationId, current, input)
        const updated: DeploymentZone = {
          ...current,
          name: input.name ?? current.name,
          description: input.description === undefined ? current.description : input.description,
          type: input.type ?? current.type,
          metadata,
          ...(release === undefined ? {} : runs(release)),
          releaseAccess: input.releaseAccess ?? current.releaseAccess,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        const notAllowed = release == null ? [] : yield* requireAllowed(caller, updated, release)
        yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "DEPLOYMENT_ZONE_UPDATED", current, updated)
        if (release != null) yield* recordDeployment(caller, updated, release, notAllowed)
      }),
    )
  })
})
