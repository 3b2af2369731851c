/** The layer of usage: ledger, checks, reports, CloudEvents, reservations, tranches, leases. */
import { Effect, Layer } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { blocks } from "../../kernel/ports/DeletionBlockers.ts"
import { InstanceDeletions } from "../instances/Deletions.ts"
import { AllowancesRepo } from "./allowances/Repo.ts"
import { Allowances } from "./allowances/Service.ts"
import { CheckRepo } from "./check/Repo.ts"
import { PastRepo } from "./check/PastRepo.ts"
import { Consumption } from "./check/Consumption.ts"
import { Checks } from "./check/Service.ts"
import { CheckBatchRepo } from "./check/hotpath/Repo.ts"
import { CloudEventsRepo } from "./cloudevents/Repo.ts"
import { CloudEvents } from "./cloudevents/Service.ts"
import { BurnRepo } from "./ledger/burning/Repo.ts"
import { CountedIdsRepo } from "./ledger/CountedIdsRepo.ts"
import { CreditExpiry } from "./credits/Expiry.ts"
import { ExpiryRepo } from "./credits/ExpiryRepo.ts"
import { CreditsRepo } from "./credits/Repo.ts"
import { Credits } from "./credits/Service.ts"
import { usedUpEvents } from "./credits/UsedUp.ts"
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
import { InstanceUsageRepo } from "./InstanceUsageRepo.ts"
import { LeasesRepo } from "./leases/Repo.ts"
import { Leases } from "./leases/Service.ts"
import * as Deployments from "./releases/Deployments.ts"
import { ReleaseImpact } from "./releases/Impact.ts"
import { ReleaseAccessRepo } from "./releases/Repo.ts"
import { InstanceReleases } from "./releases/Service.ts"
import { UsageReports } from "./reports/Service.ts"
import { OfflineUsageRepo } from "./siteusage/Repo.ts"
import { OfflineUsage } from "./siteusage/Service.ts"
import { UsagePartitions } from "./partitions/Partitions.ts"
import { UsagePartitionsRepo } from "./partitions/Repo.ts"
import { CreditUsesRepo } from "./partitions/CreditUsesRepo.ts"
import { SumsRepo } from "./partitions/SumsRepo.ts"
import { ReplayRepo } from "./replay/Repo.ts"
import { ReservationsRepo } from "./reservations/Repo.ts"
import { Reservations } from "./reservations/Service.ts"
import { StandingsRepo } from "./snapshots/Repo.ts"
import { TermsSnapshots } from "./snapshots/Service.ts"
import { TranchesRepo } from "./tranches/Repo.ts"
import { Tranches } from "./tranches/Service.ts"
import { UsageRetention } from "./Retention.ts"

const blockers = blocks(
  "entitlement",
  "usage",
  Effect.map(InstanceUsageRepo, ({ instancesUsing }) => instancesUsing),
)

const creditBlockers = blocks(
  "entitlement",
  "credits",
  Effect.map(CreditsRepo, ({ instancesWith }) => instancesWith),
)

/** Deletes the usage of an instance with the instance. */
const deletion = Layer.effectDiscard(
  Effect.gen(function* () {
    const { deleteOf } = yield* InstanceUsageRepo
    yield* (yield* InstanceDeletions).register(({ id }) =>
      Effect.flatMap(Caller, ({ organizationId }) => deleteOf(organizationId, id)),
    )
  }),
)

/** What this domain provides to earlier ones. */
export const ports = Deployments.layer.pipe(Layer.provide(ReleaseAccessRepo.layer))

/** The services of this domain. `app/Services.ts` provides those of their repositories that depend on the kind of database. */
export const layer = Layer.mergeAll(
  Checks.layer,
  TermsSnapshots.layer,
  Allowances.layer,
  Consumption.layer,
  CloudEvents.layer,
  Reservations.layer,
  Leases.layer,
  Credits.layer,
  CreditExpiry.layer,
  creditBlockers,
  LicenseImpact.layer,
  Layer.merge(InstanceReleases.layer, ReleaseImpact.layer).pipe(Layer.provide(ReleaseAccessRepo.layer)),
  OfflineUsage.layer,
  Tranches.layer,
  UsageEvents.layer,
  Layer.merge(blockers, deletion).pipe(Layer.provide(InstanceUsageRepo.layer)),
  UsageRetention.layer.pipe(Layer.provideMerge(Layer.merge(Rollups.layer, UsagePartitions.layer))),
).pipe(
  Layer.provideMerge(UsageReports.layer),
  Layer.provideMerge(Ledger.layer),
  Layer.provideMerge(Layer.merge(LockedLedger.layer, OptimisticLedger.layer)),
  Layer.provide(usedUpEvents),
  Layer.provideMerge(
    Layer.mergeAll(
      CheckRepo.layer,
      StandingsRepo.layer,
      AllowancesRepo.layer,
      PastRepo.layer,
      LedgerRepo.layer,
      BurnRepo.layer,
      CreditsRepo.layer,
      ExpiryRepo.layer,
      ReservationsRepo.layer,
      LeasesRepo.layer,
      ImpactRepo.layer,
      UsageEventsRepo.layer,
      RollupsRepo.layer,
      OfflineUsageRepo.layer,
      UsagePartitionsRepo.layer,
      SumsRepo.layer,
      CreditUsesRepo.layer,
      TranchesRepo.layer,
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

/** Checks alone, for a program that decides and changes nothing. */
export const checks = Layer.merge(Checks.layer, ReplayRepo.layer).pipe(
  Layer.provide(Layer.merge(CheckRepo.layer, PastRepo.layer)),
)
