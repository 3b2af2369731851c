/** The layer of the sweeper. */
import { Sweeper } from "./Service.ts"

/** The sweeper. It runs the retention jobs of all domains. */
export const layer = Sweeper.layer
