/** The layer of organizations. */
import { Layer } from "effect"
import { OrganizationsRepo } from "./Repo.ts"
import { OrganizationRetention } from "./Retention.ts"
import { Organizations } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.merge(Organizations.layer, OrganizationRetention.layer).pipe(
  Layer.provideMerge(OrganizationsRepo.layer),
)
