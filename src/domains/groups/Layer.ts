/** The layer of entitlement groups. */
import { Layer } from "effect"
import { EntitlementGroupsRepo } from "./Repo.ts"
import { EntitlementGroups } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = EntitlementGroups.layer.pipe(Layer.provideMerge(EntitlementGroupsRepo.layer))
