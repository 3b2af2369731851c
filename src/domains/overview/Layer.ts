/** The layer of the overview. */
import { Layer } from "effect"
import { OverviewRepo } from "./Repo.ts"
import { Overviews } from "./Service.ts"

/** The services of this domain on their repository. */
export const layer = Overviews.layer.pipe(Layer.provideMerge(OverviewRepo.layer))
