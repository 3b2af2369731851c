/** The layer of releases. */
import { Layer } from "effect"
import { ReleasesRepo } from "./Repo.ts"
import { Releases } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Releases.layer.pipe(Layer.provideMerge(ReleasesRepo.layer))
