/** The layer of usage: ledger, checks, reports, CloudEvents, reservations. */
import { Layer } from "effect"
import { UsageRepo } from "./check/Repo.ts"
import { PastRepo } from "./check/PastRepo.ts"
import { Consumption } from "./check/Consumption.ts"
import { Usage } from "./check/Service.ts"
import { CheckRepo } from "./check/hotpath/Repo.ts"
import { TallyRepo } from "./cloudevents/Repo.ts"
import { CloudEvents } from "./cloudevents/Service.ts"
import { MeterRepo } from "./ledger/LedgerRepo.ts"
import { Metering } from "./ledger/LockedLedger.ts"
import { Unlocked } from "./ledger/OptimisticLedger.ts"
import { SnapshotRepo } from "./ledger/OptimisticRepo.ts"
import { UsageReports } from "./reports/Service.ts"
import { ReservationsRepo } from "./reservations/Repo.ts"
import { Reservations } from "./reservations/Service.ts"
import { UsageRetention } from "./Retention.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(
  Usage.layer,
  Consumption.layer,
  CloudEvents.layer,
  Reservations.layer,
  UsageRetention.layer,
).pipe(
  Layer.provideMerge(UsageReports.layer),
  Layer.provideMerge(Layer.merge(Metering.layer, Unlocked.layer)),
  Layer.provideMerge(
    Layer.mergeAll(
      UsageRepo.layer,
      PastRepo.layer,
      CheckRepo.layer,
      MeterRepo.layer,
      SnapshotRepo.layer,
      TallyRepo.layer,
      ReservationsRepo.layer,
    ),
  ),
)
