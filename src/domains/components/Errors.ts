/** Problems of components. */
import { DeletionProblem, Problem } from "../../kernel/contract/Problem.ts"

export class ComponentNotFound extends Problem<ComponentNotFound>()("Component.NotFound", 404, "Component not found") {}

export class CreateComponentSlugTaken extends Problem<CreateComponentSlugTaken>()(
  "CreateComponent.SlugTaken",
  409,
  "Another component has this slug",
) {}

export class DeleteComponentLinkedToRelease extends DeletionProblem<DeleteComponentLinkedToRelease>()(
  "DeleteComponent.LinkedToRelease",
  "The component is part of a release",
) {}
