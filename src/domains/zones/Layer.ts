/** The layer of deployment zones. */
import { Effect, Layer } from "effect"
import { blocks } from "../../kernel/ports/DeletionBlockers.ts"
import { DeploymentZonesRepo } from "./Repo.ts"
import { DeploymentZones } from "./Service.ts"

const blockers = blocks(
  "release",
  "deploymentZones",
  Effect.map(DeploymentZonesRepo, ({ running }) => running),
)

/** The services of this domain on their repositories. */
export const layer = Layer.merge(DeploymentZones.layer, blockers).pipe(Layer.provideMerge(DeploymentZonesRepo.layer))
