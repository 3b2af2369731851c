/** The layer of releases. */
import { Effect, Layer } from "effect"
import { blocks } from "../../kernel/ports/DeletionBlockers.ts"
import { ReleasesRepo } from "./Repo.ts"
import { Releases } from "./Service.ts"

const blockers = Layer.merge(
  blocks(
    "component",
    "releases",
    Effect.map(ReleasesRepo, ({ containing }) => containing),
  ),
  blocks(
    "entitlement",
    "releases",
    Effect.map(ReleasesRepo, ({ requiring }) => requiring),
  ),
)

/** The services of this domain on their repositories. */
export const layer = Layer.merge(Releases.layer, blockers).pipe(Layer.provideMerge(ReleasesRepo.layer))
