/** Handlers of instances. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { IntegrationLinks } from "../customers/IntegrationLinks.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { pageResponse } from "../../kernel/contract/Page.ts"
import { InstancesApi } from "./Api.ts"
import { Instances } from "./Service.ts"

export const instances = handlersOf(
  Apis.core(InstancesApi),
  "instances",
  Effect.fn(function* (handlers) {
    const instances = yield* Instances
    const links = yield* IntegrationLinks
    return handlers.handleAll({
      list: ({ query }) => Effect.map(instances.list(query), pageResponse),
      create: ({ payload }) =>
        Effect.map(
          links.creating("INSTANCE", payload.integrations, (link) => instances.create(payload, link)),
          (instance) => created(`/api/instances/${instance.slug}`, instance),
        ),
      get: ({ params }) => instances.get(params.instanceSlug),
      update: ({ params, payload }) => instances.update(params.instanceSlug, payload),
      delete: ({ params }) => instances.delete(params.instanceSlug),
    })
  }),
)
