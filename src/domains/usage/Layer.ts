/** The layer of usage: ledger, checks, reports, CloudEvents, reservations, leases. */
import { Layer } from "effect"
import { AllowancesRepo } from "./allowances/Repo.ts"
import { Allowances } from "./allowances/Service.ts"
import { CheckRepo } from "./check/Repo.ts"
import { PastRepo } from "./check/PastRepo.ts"
import { Consumption } from "./check/Consumption.ts"
import { Usage } from "./check/Service.ts"
import { CheckBatchRepo } from "./check/hotpath/Repo.ts"
import { CloudEventsRepo } from "./cloudevents/Repo.ts"
import { CloudEvents } from "./cloudevents/Service.ts"
import { CountedIdsRepo } from "./ledger/CountedIdsRepo.ts"
import { LedgerRepo } from "./ledger/LedgerRepo.ts"
import { Ledger } from "./ledger/Ledger.ts"
import { LockedLedger } from "./ledger/LockedLedger.ts"
import { OptimisticLedger } from "./ledger/optimistic/OptimisticLedger.ts"
import { OptimisticRepo } from "./ledger/optimistic/OptimisticRepo.ts"
import { UsageEventsRepo } from "./history/Repo.ts"
import { Rollups } from "./history/Rollups.ts"
import { RollupsRepo } from "./history/RollupsRepo.ts"
import { UsageEvents } from "./history/Service.ts"
import { ImpactRepo } from "./impact/Repo.ts"
import { LicenseImpact } from "./impact/Service.ts"
import { LeasesRepo } from "./leases/Repo.ts"
import { Leases } from "./leases/Service.ts"
import { UsageReports } from "./reports/Service.ts"
import { OfflineUsageRepo } from "./offline/Repo.ts"
import { OfflineUsage } from "./offline/Service.ts"
import { UsagePartitions } from "./partitions/Partitions.ts"
import { UsagePartitionsRepo } from "./partitions/Repo.ts"
import { SumsRepo } from "./partitions/SumsRepo.ts"
import { ReservationsRepo } from "./reservations/Repo.ts"
import { Reservations } from "./reservations/Service.ts"
import { TermsSnapshots } from "./snapshots/Service.ts"
import { UsageRetention } from "./Retention.ts"

/** The services of this domain. `app/Services.ts` provides those of their repositories that depend on the kind of database. */
export const layer = Layer.mergeAll(
  Usage.layer,
  TermsSnapshots.layer,
  Allowances.layer,
  Consumption.layer,
  CloudEvents.layer,
  Reservations.layer,
  Leases.layer,
  LicenseImpact.layer,
  OfflineUsage.layer,
  UsageEvents.layer,
  UsageRetention.layer.pipe(Layer.provideMerge(Layer.merge(Rollups.layer, UsagePartitions.layer))),
).pipe(
  Layer.provideMerge(UsageReports.layer),
  Layer.provideMerge(Ledger.layer),
  Layer.provideMerge(Layer.merge(LockedLedger.layer, OptimisticLedger.layer)),
  Layer.provideMerge(
    Layer.mergeAll(
      CheckRepo.layer,
      AllowancesRepo.layer,
      PastRepo.layer,
      LedgerRepo.layer,
      ReservationsRepo.layer,
      LeasesRepo.layer,
      ImpactRepo.layer,
      UsageEventsRepo.layer,
      RollupsRepo.layer,
      OfflineUsageRepo.layer,
      UsagePartitionsRepo.layer,
      SumsRepo.layer,
    ),
  ),
)

/** The repositories of this domain whose statements depend on the kind of database, for one server. */
export const repositories = Layer.mergeAll(
  CheckBatchRepo.layer,
  CloudEventsRepo.layer,
  CountedIdsRepo.layer,
  OptimisticRepo.layer,
)
