/** The layer of instances. */
import { Layer } from "effect"
import { InstancesRepo } from "./Repo.ts"
import { Instances } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Instances.layer.pipe(Layer.provideMerge(InstancesRepo.layer))
