/** {@link CheckBatchRepo} on Citus, where a statement asks the shard of one organization. */
import { Effect, Layer } from "effect"
import { CheckBatchRepo } from "../check/hotpath/Repo.ts"

export const layer = Layer.effect(
  CheckBatchRepo,
  Effect.map(CheckBatchRepo, (repo) => ({ ...repo, separatesOrganizations: true })),
).pipe(Layer.provide(CheckBatchRepo.layer))
