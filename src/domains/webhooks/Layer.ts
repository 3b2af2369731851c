/** The layers of webhooks: their management, which every node needs, and the engine, which the role `dispatcher` runs. */
import { Layer } from "effect"
import { Attempts } from "./delivery/AttemptRecorder.ts"
import { AttemptsRepo } from "./delivery/AttemptsRepo.ts"
import { Deliveries } from "./delivery/Deliveries.ts"
import { Disabling } from "./delivery/EndpointDisabler.ts"
import { WebhooksRepo } from "./endpoints/Repo.ts"
import { WebhookEndpoints } from "./endpoints/Service.ts"
import { WebhookSecrets } from "./endpoints/SigningSecrets.ts"
import { Partitions } from "./history/Partitions.ts"
import { PartitionsRepo } from "./history/PartitionsRepo.ts"
import { HistoryRepo } from "./history/Repo.ts"
import { WebhookHistory } from "./history/Service.ts"
import { Nodes } from "./maintenance/ClaimRescuer.ts"
import { LaneHeads } from "./maintenance/LaneRepair.ts"
import { Sampling } from "./maintenance/QueueSampler.ts"
import { NodesRepo, SamplingRepo } from "./maintenance/Repo.ts"
import { DeadRows } from "./maintenance/Vacuum.ts"
import { PendingDeliveries } from "./queue/BacklogRemover.ts"
import { PendingRepo } from "./queue/BacklogRepo.ts"
import { WebhookQueue } from "./queue/Queue.ts"
import { QueueRepo } from "./queue/QueueRepo.ts"
import { WebhookRetention } from "./Retention.ts"

/** Endpoints, their secrets and the history of deliveries, on their repositories. */
export const layer = Layer.mergeAll(WebhookEndpoints.layer, WebhookHistory.layer, WebhookRetention.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(WebhookQueue.layer, PendingDeliveries.layer, WebhookSecrets.layer)),
  Layer.provideMerge(Layer.mergeAll(WebhooksRepo.layer, HistoryRepo.layer, PendingRepo.layer, QueueRepo.layer)),
)

/** What delivers. It shares the repositories of {@link layer} and needs a `WebhookSender`. */
export const engine = Deliveries.layer.pipe(
  Layer.provideMerge(Attempts.layer),
  Layer.provideMerge(
    Layer.mergeAll(DeadRows.layer, Disabling.layer, LaneHeads.layer, Nodes.layer, Partitions.layer, Sampling.layer),
  ),
  Layer.provideMerge(Layer.mergeAll(AttemptsRepo.layer, NodesRepo.layer, PartitionsRepo.layer, SamplingRepo.layer)),
)
