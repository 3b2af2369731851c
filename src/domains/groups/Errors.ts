/** Problems of entitlement groups. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class EntitlementGroupNotFound extends Problem<EntitlementGroupNotFound>()(
  "EntitlementGroup.NotFound",
  404,
  "Entitlement group not found",
) {}

export class CreateEntitlementGroupSlugTaken extends Problem<CreateEntitlementGroupSlugTaken>()(
  "CreateEntitlementGroup.SlugTaken",
  409,
  "Another entitlement group has this slug",
) {}
