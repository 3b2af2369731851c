/** The layer of integration records. */
import { Layer } from "effect"
import * as Links from "./Links.ts"
import { IntegrationRecords } from "./Records.ts"
import { recordsSql } from "./RecordsSql.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { IntegrationUpserts } from "./Upserts.ts"

/** What this domain provides to earlier ones. */
export const ports = recordsSql

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(IntegrationRecords.layer, IntegrationUpserts.layer, Links.layer).pipe(
  Layer.provideMerge(IntegrationsRepo.layer),
)
