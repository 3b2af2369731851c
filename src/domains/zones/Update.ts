/** Updates deployment zones, and deploys the releases that they switch to. */
import { Effect } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import { MetadataValues } from "../metadata/MetadataValues.ts"
import { deploying } from "./Deployments.ts"
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
  const { lockRelease, recordDeployment } = yield* deploying

  return Effect.fn("DeploymentZones.update")(function* (slug: string, input: UpdateDeploymentZone) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* zones.lock(caller.organizationId, slug)
        yield* requireUnchanged(UpdateDeploymentZone, current, input)
        const metadata = input.metadata === undefined ? current.metadata : (input.metadata ?? {})
        yield* metadataValues.check(caller.organizationId, "DEPLOYMENT_ZONE", current.metadata, metadata)
        const releaseId = input.releaseId === undefined ? current.releaseId : (input.releaseId?.toLowerCase() ?? null)
        const next =
          releaseId === null || releaseId === current.releaseId
            ? undefined
            : yield* lockRelease(caller.organizationId, releaseId)
        const updated: DeploymentZone = {
          ...current,
          name: input.name ?? current.name,
          description: input.description === undefined ? current.description : input.description,
          type: input.type ?? current.type,
          metadata,
          releaseId,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "DEPLOYMENT_ZONE_UPDATED", current, updated)
        if (next !== undefined) yield* recordDeployment(caller, updated, next)
      }),
    )
  })
})
