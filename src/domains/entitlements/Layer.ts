/** The layer of entitlements. */
import { Layer } from "effect"
import { EntitlementsRepo } from "./Repo.ts"
import { Entitlements } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Entitlements.layer.pipe(Layer.provideMerge(EntitlementsRepo.layer))
