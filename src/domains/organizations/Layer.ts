/** The layer of organizations. */
import { Layer } from "effect"
import { OrganizationsRepo } from "./Repo.ts"
import { Organizations } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Organizations.layer.pipe(Layer.provideMerge(OrganizationsRepo.layer))
