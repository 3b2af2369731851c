/** Handlers of the organization endpoints. */
import { Effect } from "effect"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { PlatformApi } from "../PlatformApi.ts"
import { Organizations } from "./Service.ts"

export const organizations = handlersOf(
  PlatformApi,
  "organizations",
  Effect.fn(function* (handlers) {
    const organizations = yield* Organizations
    return handlers.handleAll({
      list: ({ query }) => organizations.list(query),
      create: ({ payload }) =>
        Effect.map(organizations.create(payload), (organization) =>
          created(`/api/platform/organizations/${organization.id}`, organization),
        ),
      get: ({ params }) => organizations.get(params.orgId),
      update: ({ params, payload }) => organizations.update(params.orgId, payload),
    })
  }),
)
