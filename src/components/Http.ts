/** Handlers of components. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { Components } from "./Service.ts"

export const components = HttpApiBuilder.group(
  CoreApi,
  "components",
  Effect.fn(function* (handlers) {
    const components = yield* Components
    return handlers.handleAll({
      list: ({ query }) => components.list(query),
      create: ({ payload }) =>
        Effect.map(components.create(payload), (component) => created(`/api/components/${component.slug}`, component)),
      get: ({ params }) => components.get(params.componentSlug),
      delete: ({ params }) => components.delete(params.componentSlug),
    })
  }),
)
