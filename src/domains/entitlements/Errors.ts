/** Problems of entitlements. */
import { DeletionProblem, Problem } from "../../kernel/contract/Problem.ts"

export class EntitlementNotFound extends Problem<EntitlementNotFound>()(
  "Entitlement.NotFound",
  404,
  "Entitlement not found",
) {}

export class CreateEntitlementSlugTaken extends Problem<CreateEntitlementSlugTaken>()(
  "CreateEntitlement.SlugTaken",
  409,
  "Another entitlement has this slug",
) {}

export class DeleteEntitlementInUse extends DeletionProblem<DeleteEntitlementInUse>()(
  "DeleteEntitlement.InUse",
  "The entitlement is in use",
) {}
