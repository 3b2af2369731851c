/** Handlers of components. */
import { Effect } from "effect"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { Components } from "./Service.ts"

export const components = handlersOf(
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
