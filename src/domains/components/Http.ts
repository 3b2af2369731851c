/** Handlers of components. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { ComponentsApi } from "./Api.ts"
import { Components } from "./Service.ts"

export const components = handlersOf(
  Apis.core(ComponentsApi),
  "components",
  Effect.fn(function* (handlers) {
    const components = yield* Components
    return handlers.handleAll({
      list: ({ query }) => components.list(query),
      create: ({ payload }) =>
        Effect.map(components.create(payload), (component) => created(`/api/components/${component.slug}`, component)),
      get: ({ params }) => components.get(params.componentSlug),
      setImages: ({ params, payload }) => components.setImages(params.componentSlug, payload),
      delete: ({ params }) => components.delete(params.componentSlug),
    })
  }),
)
