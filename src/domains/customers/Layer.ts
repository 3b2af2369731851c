/** The layer of customers. */
import { Layer } from "effect"
import { CustomersRepo } from "./Repo.ts"
import { Customers } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Customers.layer.pipe(Layer.provideMerge(CustomersRepo.layer))
