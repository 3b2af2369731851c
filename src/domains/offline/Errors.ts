/** Problems of offline bundles, revocation lists, ledgers and tranches. */
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

export class UploadOfflineUsageLedgerForked extends Problem<UploadOfflineUsageLedgerForked>()(
  "UploadOfflineUsage.LedgerForked",
  409,
  "A line does not follow from the one before",
) {}

export class UploadOfflineUsageLedgerGap extends Problem<UploadOfflineUsageLedgerGap>()(
  "UploadOfflineUsage.LedgerGap",
  409,
  "A line is missing",
) {}

export class UploadOfflineUsageLedgerClosed extends Problem<UploadOfflineUsageLedgerClosed>()(
  "UploadOfflineUsage.LedgerClosed",
  409,
  "The ledger is closed",
) {}

export class RefillTranchesLedgerForked extends Problem<RefillTranchesLedgerForked>()(
  "RefillTranches.LedgerForked",
  409,
  "A line does not follow from the one before",
) {}

export class RefillTranchesLedgerGap extends Problem<RefillTranchesLedgerGap>()(
  "RefillTranches.LedgerGap",
  409,
  "A line is missing",
) {}

export class RefillTranchesLedgerClosed extends Problem<RefillTranchesLedgerClosed>()(
  "RefillTranches.LedgerClosed",
  409,
  "The ledger is closed",
) {}

export class TrancheNotFound extends Problem<TrancheNotFound>()("Tranche.NotFound", 404, "Tranche not found") {}
