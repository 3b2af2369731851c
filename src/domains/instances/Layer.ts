/** The layer of instances. */
import { Layer } from "effect"
import { InstanceDeletions } from "./Deletions.ts"
import { OverridesRepo } from "./overrides/Repo.ts"
import { LicenseKeys } from "./keys/Service.ts"
import { Overrides } from "./overrides/Service.ts"
import { LicenseMoves } from "./LicenseMoves.ts"
import { InstancesRepo } from "./Repo.ts"
import { Instances } from "./Service.ts"
import { TermsRepo } from "./terms/Repo.ts"
import { TermNotices } from "./terms/Service.ts"

/** The services of this domain. `app/Services.ts` provides the repository that depends on the kind of database. */
export const layer = Layer.mergeAll(LicenseKeys.layer, LicenseMoves.layer, Overrides.layer, TermNotices.layer).pipe(
  Layer.provideMerge(Instances.layer),
  Layer.provideMerge(Layer.mergeAll(InstanceDeletions.layer, OverridesRepo.layer, TermsRepo.layer)),
)

/** The repositories of this domain whose statements depend on the kind of database, for one server. */
export const repositories = InstancesRepo.layer
