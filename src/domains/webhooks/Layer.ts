/** The layers of webhooks: endpoint management for every node, and the delivery engine for the role `dispatcher`. */
import { Layer } from "effect"
import { AttemptRecorder } from "./delivery/AttemptRecorder.ts"
import { AttemptsRepo } from "./delivery/AttemptsRepo.ts"
import { Deliveries } from "./delivery/Deliveries.ts"
import { EndpointDisabler } from "./delivery/EndpointDisabler.ts"
import { HealthRepo } from "./endpoints/HealthRepo.ts"
import { EndpointsRepo } from "./endpoints/Repo.ts"
import { WebhookEndpoints } from "./endpoints/Service.ts"
import { SigningSecrets } from "./endpoints/SigningSecrets.ts"
import { Partitions } from "./history/Partitions.ts"
import { PartitionsRepo } from "./history/PartitionsRepo.ts"
import { HistoryRepo } from "./history/Repo.ts"
import { WebhookRecovery } from "./history/Recovery.ts"
import { RecoveryRepo } from "./history/RecoveryRepo.ts"
import { WebhookHistory } from "./history/Service.ts"
import { ClaimRescuer } from "./maintenance/ClaimRescuer.ts"
import { LaneRepair } from "./maintenance/LaneRepair.ts"
import { QueueSampler } from "./maintenance/QueueSampler.ts"
import { QueueMaintenanceRepo } from "./maintenance/Repo.ts"
import { Vacuum } from "./maintenance/Vacuum.ts"
import { BacklogRemover } from "./queue/BacklogRemover.ts"
import { BacklogRepo } from "./queue/BacklogRepo.ts"
import { WebhookQueue } from "./queue/Queue.ts"
import { QueueRepo } from "./queue/QueueRepo.ts"
import { QueueTransactions } from "./queue/QueueTransactions.ts"
import { WebhookRetention } from "./Retention.ts"

/**
 * Endpoints, their secrets and the delivery history. `app/Services.ts` provides those of their repositories that depend on the kind of
 * database.
 */
export const layer = Layer.mergeAll(
  WebhookEndpoints.layer,
  WebhookHistory.layer,
  WebhookRecovery.layer,
  WebhookRetention.layer,
).pipe(
  Layer.provideMerge(Layer.mergeAll(WebhookQueue.layer, BacklogRemover.layer, SigningSecrets.layer)),
  Layer.provideMerge(Layer.mergeAll(HealthRepo.layer, RecoveryRepo.layer, QueueRepo.layer, QueueTransactions.layer)),
)

/** The delivery engine. It shares the repositories of {@link layer} and needs a `WebhookSender`. */
export const engine = Deliveries.layer.pipe(
  Layer.provideMerge(AttemptRecorder.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      ClaimRescuer.layer,
      EndpointDisabler.layer,
      LaneRepair.layer,
      Partitions.layer,
      QueueSampler.layer,
      Vacuum.layer,
    ),
  ),
  Layer.provideMerge(Layer.merge(PartitionsRepo.layer, QueueMaintenanceRepo.layer)),
)

/** The repositories of this domain whose statements depend on the kind of database, for one server. */
export const repositories = Layer.mergeAll(
  AttemptsRepo.layer,
  BacklogRepo.layer,
  EndpointsRepo.layer,
  HistoryRepo.layer,
)
