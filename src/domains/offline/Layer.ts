/** The layer of offline bundles: issuing, snapshots, revocation lists, published keys, ledgers and tranches. */
import { Layer } from "effect"
import { BundlesRepo } from "./bundles/Repo.ts"
import { OfflineBundles } from "./bundles/Service.ts"
import * as Uploads from "./bundles/UploadsRepo.ts"
import { LedgersRepo } from "./ledgers/Repo.ts"
import { OfflineLedgers } from "./ledgers/Service.ts"
import { PublishedKeys } from "./PublishedKeys.ts"
import { OfflineRetention } from "./Retention.ts"
import { RevocationsRepo } from "./revocations/Repo.ts"
import { RevocationLists } from "./revocations/Service.ts"
import { SnapshotsRepo } from "./snapshots/Repo.ts"
import { Snapshots } from "./snapshots/Service.ts"
import { RefillsRepo } from "./tranches/Repo.ts"
import { InstanceTranches } from "./tranches/Service.ts"

/** What this domain provides to earlier ones. */
export const ports = Uploads.layer

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(
  OfflineBundles.layer,
  OfflineLedgers.layer,
  PublishedKeys.layer,
  OfflineRetention.layer,
  InstanceTranches.layer,
).pipe(
  Layer.provideMerge(Snapshots.layer),
  Layer.provideMerge(RevocationLists.layer),
  Layer.provideMerge(
    Layer.mergeAll(BundlesRepo.layer, LedgersRepo.layer, RefillsRepo.layer, RevocationsRepo.layer, SnapshotsRepo.layer),
  ),
)
