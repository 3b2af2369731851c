/** The layer of the event log. */
import { Layer } from "effect"
import { Checkpoints } from "./Checkpoints.ts"
import { LogKeeper } from "./log/LogKeeper.ts"
import { LogReader } from "./log/LogReader.ts"
import { LogRestart } from "./log/LogRestart.ts"
import { EventProofs } from "./Proofs.ts"
import { AuditRepo } from "./Repo.ts"
import { EventRetention } from "./Retention.ts"
import { Sealing } from "./Sealing.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(
  EventProofs.layer,
  LogKeeper.layer,
  LogReader.layer,
  LogRestart.layer,
  EventRetention.layer,
).pipe(Layer.provideMerge(Checkpoints.layer), Layer.provideMerge(Sealing.layer), Layer.provideMerge(AuditRepo.layer))
