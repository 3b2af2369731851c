/** The layer of offline bundles: issuing, revocation lists and published keys. */
import { Layer } from "effect"
import { BundlesRepo } from "./bundles/Repo.ts"
import { OfflineBundles } from "./bundles/Service.ts"
import { PublishedKeys } from "./PublishedKeys.ts"
import { OfflineRetention } from "./Retention.ts"
import { RevocationsRepo } from "./revocations/Repo.ts"
import { RevocationLists } from "./revocations/Service.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(OfflineBundles.layer, PublishedKeys.layer, OfflineRetention.layer).pipe(
  Layer.provideMerge(RevocationLists.layer),
  Layer.provideMerge(Layer.merge(BundlesRepo.layer, RevocationsRepo.layer)),
)
