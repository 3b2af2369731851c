/** Problems of deployment zones (contract, section 3). */
import { Problem } from "../../kernel/contract/Problem.ts"

export class DeploymentZoneNotFound extends Problem<DeploymentZoneNotFound>()(
  "DeploymentZone.NotFound",
  404,
  "Deployment zone not found",
) {}

export class CreateDeploymentZoneSlugTaken extends Problem<CreateDeploymentZoneSlugTaken>()(
  "CreateDeploymentZone.SlugTaken",
  409,
  "Another deployment zone has this slug",
) {}

export class DeleteDeploymentZoneInUse extends Problem<DeleteDeploymentZoneInUse>()(
  "DeleteDeploymentZone.InUse",
  409,
  "An instance uses the deployment zone",
) {}
