/** Problems of customers. */
import { DeletionProblem, Problem } from "../../kernel/contract/Problem.ts"

export class CustomerNotFound extends Problem<CustomerNotFound>()("Customer.NotFound", 404, "Customer not found") {}

export class CreateCustomerSlugTaken extends Problem<CreateCustomerSlugTaken>()(
  "CreateCustomer.SlugTaken",
  409,
  "Another customer has this slug",
) {}

export class CreateCustomerExternalIdTaken extends Problem<CreateCustomerExternalIdTaken>()(
  "CreateCustomer.ExternalIdTaken",
  409,
  "Another customer has this external id",
) {}

export class UpdateCustomerExternalIdTaken extends Problem<UpdateCustomerExternalIdTaken>()(
  "UpdateCustomer.ExternalIdTaken",
  409,
  "Another customer has this external id",
) {}

export class DeleteCustomerInUse extends DeletionProblem<DeleteCustomerInUse>()(
  "DeleteCustomer.InUse",
  "The customer has instances",
) {}

export class CreateIntegrationExternalIdTaken extends Problem<CreateIntegrationExternalIdTaken>()(
  "CreateIntegration.ExternalIdTaken",
  409,
  "The external id belongs to another resource",
) {}
