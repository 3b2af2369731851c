/** Problems of integration records and upserts. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class IntegrationRecordNotFound extends Problem<IntegrationRecordNotFound>()(
  "IntegrationRecord.NotFound",
  404,
  "Integration record not found",
) {}

export class CreateIntegrationAlreadyExists extends Problem<CreateIntegrationAlreadyExists>()(
  "CreateIntegration.AlreadyExists",
  409,
  "There is a record of this integration already",
) {}

export class UpdateIntegrationExternalIdTaken extends Problem<UpdateIntegrationExternalIdTaken>()(
  "UpdateIntegration.ExternalIdTaken",
  409,
  "The external id belongs to another resource",
) {}

export class UpsertCustomerSlugTaken extends Problem<UpsertCustomerSlugTaken>()(
  "UpsertCustomer.SlugTaken",
  409,
  "Another customer has this slug",
) {}

export class UpsertInstanceSlugTaken extends Problem<UpsertInstanceSlugTaken>()(
  "UpsertInstance.SlugTaken",
  409,
  "Another instance has this slug",
) {}

export class UpsertInstanceLicenseArchived extends Problem<UpsertInstanceLicenseArchived>()(
  "UpsertInstance.LicenseArchived",
  409,
  "The license version is archived",
) {}
