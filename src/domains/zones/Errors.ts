/** Problems of deployment zones. */
import { DeletionProblem, Problem } from "../../kernel/contract/Problem.ts"

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

export class DeleteDeploymentZoneInUse extends DeletionProblem<DeleteDeploymentZoneInUse>()(
  "DeleteDeploymentZone.InUse",
  "An instance uses the deployment zone",
) {}
