/** Problems of licenses, their families and their grants. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class LicenseNotFound extends Problem<LicenseNotFound>()("License.NotFound", 404, "License not found") {}

export class LicenseFamilyNotFound extends Problem<LicenseFamilyNotFound>()(
  "LicenseFamily.NotFound",
  404,
  "License family not found",
) {}

export class GetLicenseFamilyNoPublishedVersion extends Problem<GetLicenseFamilyNoPublishedVersion>()(
  "GetLicenseFamily.NoPublishedVersion",
  404,
  "No version of the family is published",
) {}

export class CreateLicenseSlugTaken extends Problem<CreateLicenseSlugTaken>()(
  "CreateLicense.SlugTaken",
  409,
  "Another license has this slug",
) {}

export class CreateLicenseDefaultMustBePublished extends Problem<CreateLicenseDefaultMustBePublished>()(
  "CreateLicense.DefaultMustBePublished",
  409,
  "Only a published version can be the default",
) {}

export class UpdateLicenseDefaultMustBePublished extends Problem<UpdateLicenseDefaultMustBePublished>()(
  "UpdateLicense.DefaultMustBePublished",
  409,
  "Only a published version can be the default",
) {}

export class ArchiveLicenseNotPublished extends Problem<ArchiveLicenseNotPublished>()(
  "ArchiveLicense.NotPublished",
  409,
  "Only a published version is archived",
) {}

export class ArchiveLicenseDefaultMustBePublished extends Problem<ArchiveLicenseDefaultMustBePublished>()(
  "ArchiveLicense.DefaultMustBePublished",
  409,
  "The version is its family's default",
) {}

export class PublishLicenseNotADraft extends Problem<PublishLicenseNotADraft>()(
  "PublishLicense.NotADraft",
  409,
  "Only a draft is published",
) {}

export class UnarchiveLicenseNotArchived extends Problem<UnarchiveLicenseNotArchived>()(
  "UnarchiveLicense.NotArchived",
  409,
  "The version is not archived",
) {}

export class DeleteLicenseNotADraft extends Problem<DeleteLicenseNotADraft>()(
  "DeleteLicense.NotADraft",
  409,
  "Only a draft is deleted",
) {}

export class DeleteLicenseInUse extends Problem<DeleteLicenseInUse>()(
  "DeleteLicense.InUse",
  409,
  "An instance uses the license",
) {}

export class AssignLicenseEntitlementAlreadyAssigned extends Problem<AssignLicenseEntitlementAlreadyAssigned>()(
  "AssignLicenseEntitlement.AlreadyAssigned",
  409,
  "The license grants this entitlement already",
) {}
