/** The layer of offline bundles: issuing, revocation lists, published keys and ledgers. */
import { Layer } from "effect"
import { BundlesRepo } from "./bundles/Repo.ts"
import { OfflineBundles } from "./bundles/Service.ts"
import { LedgersRepo } from "./ledgers/Repo.ts"
import { OfflineLedgers } from "./ledgers/Service.ts"
import { PublishedKeys } from "./PublishedKeys.ts"
import { OfflineRetention } from "./Retention.ts"
import { RevocationsRepo } from "./revocations/Repo.ts"
import { RevocationLists } from "./revocations/Service.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(
  OfflineBundles.layer,
  OfflineLedgers.layer,
  PublishedKeys.layer,
  OfflineRetention.layer,
).pipe(
  Layer.provideMerge(RevocationLists.layer),
  Layer.provideMerge(Layer.mergeAll(BundlesRepo.layer, LedgersRepo.layer, RevocationsRepo.layer)),
)
