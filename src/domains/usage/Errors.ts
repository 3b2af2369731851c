/** Problems of usage. */
import { Problem } from "../../kernel/contract/Problem.ts"

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

export class ReportUsageNotReportable extends Problem<ReportUsageNotReportable>()(
  "ReportUsage.NotReportable",
  409,
  "The usage of this entitlement is not reported",
) {}

export class AcquireLeaseLimitReached extends Problem<AcquireLeaseLimitReached>()(
  "AcquireLease.LimitReached",
  409,
  "The license does not allow one more to hold it",
) {}

export class LeaseNotFound extends Problem<LeaseNotFound>()("Lease.NotFound", 404, "No such live lease") {}

export class UsageEventNotFound extends Problem<UsageEventNotFound>()(
  "UsageEvent.NotFound",
  404,
  "No such usage event",
) {}

export class ReserveLimitReached extends Problem<ReserveLimitReached>()(
  "Reserve.LimitReached",
  409,
  "The license does not allow this much to be reserved",
) {}

export class ReservationNotFound extends Problem<ReservationNotFound>()(
  "Reservation.NotFound",
  404,
  "No such reservation",
) {}

export class ReservationNotHeld extends Problem<ReservationNotHeld>()(
  "Reservation.NotHeld",
  409,
  "The reservation is not held any more",
) {}

export class CreateCreditLimitReached extends Problem<CreateCreditLimitReached>()(
  "CreateCredit.LimitReached",
  409,
  "The instance has as many credits as it can have",
) {}

export class CreateCreditExternalIdTaken extends Problem<CreateCreditExternalIdTaken>()(
  "CreateCredit.ExternalIdTaken",
  409,
  "Another credit has this external id",
) {}

export class CreditNotFound extends Problem<CreditNotFound>()("Credit.NotFound", 404, "No such credit") {}

// The rejections of a CloudEvent that was sent alone. An emitter decides by the status, and any 422 means that the same
// event would be rejected again.

export class UsageEventInstanceNotFound extends Problem<UsageEventInstanceNotFound>()(
  "Instance.NotFound",
  422,
  "No such instance",
  "UsageEvent.InstanceNotFound",
) {}

export class UsageEventEntitlementNotFound extends Problem<UsageEventEntitlementNotFound>()(
  "Entitlement.NotFound",
  422,
  "No such entitlement",
  "UsageEvent.EntitlementNotFound",
) {}

export class UsageEventThresholdExceeded extends Problem<UsageEventThresholdExceeded>()(
  "ReportUsage.ThresholdExceeded",
  422,
  "The license does not allow this much",
  "UsageEvent.ThresholdExceeded",
) {}

export class UsageEventNotReportable extends Problem<UsageEventNotReportable>()(
  "ReportUsage.NotReportable",
  422,
  "The usage of this entitlement is not reported",
  "UsageEvent.NotReportable",
) {}
