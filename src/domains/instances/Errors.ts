/** Problems of instances (contract, section 3). */
import { Problem } from "../../kernel/contract/Problem.ts"

export class InstanceNotFound extends Problem<InstanceNotFound>()("Instance.NotFound", 404, "Instance not found") {}

export class OverrideNotFound extends Problem<OverrideNotFound>()("Override.NotFound", 404, "Override not found") {}

export class CreateInstanceSlugTaken extends Problem<CreateInstanceSlugTaken>()(
  "CreateInstance.SlugTaken",
  409,
  "Another instance has this slug",
) {}

export class CreateInstanceLicenseArchived extends Problem<CreateInstanceLicenseArchived>()(
  "CreateInstance.LicenseArchived",
  409,
  "The license version is archived",
) {}

export class UpdateInstanceLicenseArchived extends Problem<UpdateInstanceLicenseArchived>()(
  "UpdateInstance.LicenseArchived",
  409,
  "The license version is archived",
) {}
