/** The layer of integration records. */
import { Layer } from "effect"
import { IntegrationRecords } from "./Records.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { IntegrationUpserts } from "./Upserts.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.merge(IntegrationRecords.layer, IntegrationUpserts.layer).pipe(
  Layer.provideMerge(IntegrationsRepo.layer),
)
