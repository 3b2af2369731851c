/** Problems of offline bundles and revocation lists. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class OfflineBundleNotFound extends Problem<OfflineBundleNotFound>()(
  "OfflineBundle.NotFound",
  404,
  "Offline bundle not found",
) {}

export class IssueOfflineBundleLicenseEnded extends Problem<IssueOfflineBundleLicenseEnded>()(
  "IssueOfflineBundle.LicenseEnded",
  409,
  "The license of the instance has ended",
) {}

export class IssueOfflineBundleLimitReached extends Problem<IssueOfflineBundleLimitReached>()(
  "IssueOfflineBundle.LimitReached",
  409,
  "An allowance does not fit into the limit",
) {}

export class RevocationListNotFound extends Problem<RevocationListNotFound>()(
  "RevocationList.NotFound",
  404,
  "Revocation list not found",
) {}
