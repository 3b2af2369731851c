/** Problems of organizations. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class OrganizationNotFound extends Problem<OrganizationNotFound>()(
  "Organization.NotFound",
  404,
  "Organization not found",
) {}

export class CreateOrganizationSlugTaken extends Problem<CreateOrganizationSlugTaken>()(
  "CreateOrganization.SlugTaken",
  409,
  "Another organization has this slug",
) {}

export class UpdateOrganizationExternalIdTaken extends Problem<UpdateOrganizationExternalIdTaken>()(
  "UpdateOrganization.ExternalIdTaken",
  409,
  "Another organization has this external id",
) {}
