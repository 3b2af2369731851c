/** The layer of the sweeper. */
import { Layer } from "effect"
import { OrganizationRemoval } from "./OrganizationRemoval.ts"
import { Sweeper } from "./Service.ts"

/** The sweeper. It runs the retention jobs of all domains. */
export const layer = Sweeper.layer.pipe(Layer.provideMerge(OrganizationRemoval.layer))
