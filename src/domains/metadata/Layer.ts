/** The layer of metadata fields and values. */
import { Layer } from "effect"
import { MetadataValues } from "./MetadataValues.ts"
import { MetadataFieldsRepo } from "./Repo.ts"
import { MetadataFields } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.merge(MetadataFields.layer, MetadataValues.layer).pipe(
  Layer.provideMerge(MetadataFieldsRepo.layer),
)
