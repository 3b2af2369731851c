/** The layer of the sweeper. */
import { Layer } from "effect"
import { MaintenanceRepo } from "../../kernel/database/ExpiredRows.ts"
import { Sweeper } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Sweeper.layer.pipe(Layer.provideMerge(MaintenanceRepo.layer))
