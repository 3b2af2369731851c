/** Handlers of deployment zones. */
import { Effect } from "effect"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { DeploymentZones } from "./Service.ts"

export const deploymentZones = handlersOf(
  CoreApi,
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
