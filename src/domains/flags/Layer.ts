/** The layer of feature flags and their evaluation. */
import { Layer } from "effect"
import { FactsRepo } from "./ofrep/FactsRepo.ts"
import { Evaluations } from "./ofrep/Service.ts"
import { StreamTickets } from "./ofrep/streams/Tickets.ts"
import { FlagsRepo } from "./Repo.ts"
import { FeatureFlags } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(FeatureFlags.layer, Evaluations.layer, StreamTickets.layer).pipe(
  Layer.provide(FactsRepo.layer),
  Layer.provideMerge(FlagsRepo.layer),
)

/** Evaluations alone, for a program that decides and changes nothing. */
export const evaluations = Evaluations.layer.pipe(Layer.provide(Layer.merge(FactsRepo.layer, FlagsRepo.layer)))
