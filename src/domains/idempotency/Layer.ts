/** The layer of stored responses. */
import { Layer } from "effect"
import { IdempotencyRepo } from "./Repo.ts"
import { IdempotencyRetention } from "./Retention.ts"

/** The services of this domain on their repositories. */
export const layer = IdempotencyRetention.layer.pipe(Layer.provideMerge(IdempotencyRepo.layer))
