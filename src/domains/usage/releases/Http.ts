/** Handlers of what an instance may have of the releases. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { InstanceReleasesApi } from "./Api.ts"
import { InstanceReleases } from "./Service.ts"

export const instanceReleases = handlersOf(
  Apis.core(InstanceReleasesApi),
  "instanceReleases",
  Effect.fn(function* (handlers) {
    const releases = yield* InstanceReleases
    return handlers.handleAll({
      list: ({ params, query }) => releases.list(params.instanceSlug, query),
      get: ({ params }) => releases.get(params.instanceSlug, params.releaseSlug),
    })
  }),
)
