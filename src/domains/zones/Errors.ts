/** Problems of deployment zones. */
import { DeletionProblem, ImpactProblem, Problem } from "../../kernel/contract/Problem.ts"
import { DeploymentImpact } from "../../kernel/contract/dryruns/Impact.ts"

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

export class UpdateDeploymentZoneReleaseNotAllowed extends ImpactProblem<UpdateDeploymentZoneReleaseNotAllowed>()(
  "UpdateDeploymentZone.ReleaseNotAllowed",
  "An instance of the zone may not have the release",
  DeploymentImpact,
) {}
