/** Handlers of releases. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { ReleasesApi } from "./Api.ts"
import { Releases } from "./Service.ts"

export const releases = handlersOf(
  Apis.core(ReleasesApi),
  "releases",
  Effect.fn(function* (handlers) {
    const releases = yield* Releases
    return handlers.handleAll({
      list: ({ query }) => releases.list(query),
      create: ({ payload }) =>
        Effect.map(releases.create(payload), (release) => created(`/api/releases/${release.slug}`, release)),
      get: ({ params }) => releases.get(params.releaseSlug),
      updateAccess: ({ params, payload }) => releases.updateAccess(params.releaseSlug, payload),
      delete: ({ params }) => releases.delete(params.releaseSlug),
    })
  }),
)
