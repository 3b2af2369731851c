/** Handlers of releases. */
import { Effect } from "effect"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { Releases } from "./Service.ts"

export const releases = handlersOf(
  CoreApi,
  "releases",
  Effect.fn(function* (handlers) {
    const releases = yield* Releases
    return handlers.handleAll({
      list: ({ query }) => releases.list(query),
      create: ({ payload }) =>
        Effect.map(releases.create(payload), (release) => created(`/api/releases/${release.slug}`, release)),
      get: ({ params }) => releases.get(params.releaseSlug),
      delete: ({ params }) => releases.delete(params.releaseSlug),
    })
  }),
)
