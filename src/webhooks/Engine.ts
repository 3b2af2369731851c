/** The layers of the delivery engine. */
import { Layer } from "effect"
import { Attempts } from "./Attempts.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import { DeadRows } from "./DeadRows.ts"
import { Deliveries } from "./Delivery.ts"
import { Disabling } from "./Disabling.ts"
import { LaneHeads } from "./LaneHeads.ts"
import { Nodes } from "./Nodes.ts"
import { NodesRepo } from "./NodesRepo.ts"
import { OutboxRepo } from "./OutboxRepo.ts"
import { Partitions } from "./Partitions.ts"
import { PartitionsRepo } from "./PartitionsRepo.ts"
import { Sampling } from "./Sampling.ts"
import { SamplingRepo } from "./SamplingRepo.ts"

/** Repositories of the engine; `QueueRepo` is shared with the management of endpoints. */
const repositories = Layer.mergeAll(
  AttemptsRepo.layer,
  NodesRepo.layer,
  OutboxRepo.layer,
  PartitionsRepo.layer,
  SamplingRepo.layer,
)

/** What makes deliveries. Needs a `WebhookSender`. */
export const engine = Deliveries.layer.pipe(
  Layer.provideMerge(Attempts.layer),
  Layer.provideMerge(
    Layer.mergeAll(DeadRows.layer, Disabling.layer, LaneHeads.layer, Nodes.layer, Partitions.layer, Sampling.layer),
  ),
  Layer.provideMerge(repositories),
)
