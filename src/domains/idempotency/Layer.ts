/** The layer of stored responses. */
import { IdempotencyRepo } from "./Repo.ts"

/** The services of this domain on their repositories. */
export const layer = IdempotencyRepo.layer
