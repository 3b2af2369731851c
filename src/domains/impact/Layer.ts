/** The layer of the impact of changes. */
import { Layer } from "effect"
import { ImpactRepo } from "./Repo.ts"
import { Impacts } from "./Service.ts"
import { ChangingImpacts } from "./ChangingImpacts.ts"
import { ReleaseImpacts } from "./ReleaseImpacts.ts"

export { layer as ports } from "./NamedRecordsSql.ts"

/** The services of this domain on their repository. */
export const layer = Impacts.layer.pipe(
  Layer.provideMerge(Layer.merge(ChangingImpacts.layer, ReleaseImpacts.layer)),
  Layer.provideMerge(ImpactRepo.layer),
)
