/** Problems of instances. */
import { noSuch, Problem } from "../../kernel/contract/Problem.ts"

export class InstanceNotFound extends Problem<InstanceNotFound>()("Instance.NotFound", 404, "Instance not found") {}

export const instanceNotFound = (slug: string) => new InstanceNotFound({ detail: noSuch("instance", slug) })

export class OverrideNotFound extends Problem<OverrideNotFound>()("Override.NotFound", 404, "Override not found") {}

export class AddOnNotFound extends Problem<AddOnNotFound>()("AddOn.NotFound", 404, "Add-on not found") {}

export class PutAddOnLicenseArchived extends Problem<PutAddOnLicenseArchived>()(
  "PutAddOn.LicenseArchived",
  409,
  "The license version is archived",
) {}

export class PutAddOnLimitReached extends Problem<PutAddOnLimitReached>()(
  "PutAddOn.LimitReached",
  409,
  "The instance has the maximum of add-ons",
) {}

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

/** The detail of all problems of an archived license version. */
export const licenseArchived = (slug: string) => ({
  detail: `The license version "${slug}" is archived. Assign another version or unarchive it first.`,
})

export class UpdateInstanceLicenseArchived extends Problem<UpdateInstanceLicenseArchived>()(
  "UpdateInstance.LicenseArchived",
  409,
  "The license version is archived",
) {}
