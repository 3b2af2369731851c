/** The layer of licenses, their families and grants. */
import { Effect, Layer } from "effect"
import { blocks } from "../../kernel/ports/DeletionBlockers.ts"
import { LicenseFamilies } from "./Families.ts"
import { LicenseGrantsRepo } from "./grants/Repo.ts"
import { LicenseGrants } from "./grants/Service.ts"
import { LicenseLifecycle } from "./Lifecycle.ts"
import { LicensesRepo } from "./Repo.ts"
import { Licenses } from "./Service.ts"

const blockers = blocks(
  "entitlement",
  "licenses",
  Effect.map(LicenseGrantsRepo, ({ granting }) => granting),
)

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(
  Licenses.layer,
  LicenseFamilies.layer,
  LicenseGrants.layer,
  LicenseLifecycle.layer,
  blockers,
).pipe(Layer.provideMerge(Layer.merge(LicensesRepo.layer, LicenseGrantsRepo.layer)))
