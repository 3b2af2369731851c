/** The layer of components. */
import { Layer } from "effect"
import { ComponentsRepo } from "./Repo.ts"
import { Components } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Components.layer.pipe(Layer.provideMerge(ComponentsRepo.layer))
