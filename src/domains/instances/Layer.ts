/** The layer of instances. */
import { Layer } from "effect"
import { InstancesRepo } from "./Repo.ts"
import { Instances } from "./Service.ts"
import { TermsRepo } from "./terms/Repo.ts"
import { TermNotices } from "./terms/Service.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.merge(Instances.layer, TermNotices.layer).pipe(
  Layer.provideMerge(Layer.merge(InstancesRepo.layer, TermsRepo.layer)),
)
