/** Problems of releases. */
import { DeletionProblem, Problem } from "../../kernel/contract/Problem.ts"

export class ReleaseNotFound extends Problem<ReleaseNotFound>()("Release.NotFound", 404, "Release not found") {}

export class CreateReleaseSlugTaken extends Problem<CreateReleaseSlugTaken>()(
  "CreateRelease.SlugTaken",
  409,
  "Another release has this slug",
) {}

export class DeleteReleaseDeployed extends DeletionProblem<DeleteReleaseDeployed>()(
  "DeleteRelease.Deployed",
  "A deployment zone is on the release",
) {}
