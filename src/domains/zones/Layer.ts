/** The layer of deployment zones. */
import { Layer } from "effect"
import { DeploymentZonesRepo } from "./Repo.ts"
import { DeploymentZones } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = DeploymentZones.layer.pipe(Layer.provideMerge(DeploymentZonesRepo.layer))
