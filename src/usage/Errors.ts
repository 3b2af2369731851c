/** Problems of usage (contract, section 3). */
import { Problem } from "../kernel/Problem.ts"

export class ReportUsageThresholdExceeded extends Problem<ReportUsageThresholdExceeded>()(
  "ReportUsage.ThresholdExceeded",
  409,
  "The license does not allow this much",
) {}

export class ReportUsageTransactionIdReused extends Problem<ReportUsageTransactionIdReused>()(
  "ReportUsage.TransactionIdReused",
  409,
  "The transaction id belongs to another report",
) {}
