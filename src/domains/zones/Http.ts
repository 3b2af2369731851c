/** Handlers of deployment zones. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { DeploymentZonesApi } from "./Api.ts"
import { DeploymentZones } from "./Service.ts"

export const deploymentZones = handlersOf(
  Apis.core(DeploymentZonesApi),
  "deploymentZones",
  Effect.fn(function* (handlers) {
    const zones = yield* DeploymentZones
    return handlers.handleAll({
      list: ({ query }) => zones.list(query),
      create: ({ payload }) =>
        Effect.map(zones.create(payload), (zone) => created(`/api/deployment-zones/${zone.slug}`, zone)),
      get: ({ params }) => zones.get(params.deploymentZoneSlug),
      update: ({ params, payload }) => zones.update(params.deploymentZoneSlug, payload),
      delete: ({ params }) => zones.delete(params.deploymentZoneSlug),
      listDeployments: ({ params, query }) => zones.listDeployments(params.deploymentZoneSlug, query),
    })
  }),
)
