/** The repositories of usage on Citus. */
import { Layer } from "effect"
import * as CheckBatch from "./CheckBatchRepoSharded.ts"
import * as CloudEvents from "./CloudEventsRepoSharded.ts"
import * as CountedIds from "./CountedIdsRepoSharded.ts"
import * as Optimistic from "./OptimisticRepoSharded.ts"

export const repositories = Layer.mergeAll(CheckBatch.layer, CloudEvents.layer, CountedIds.layer, Optimistic.layer)
