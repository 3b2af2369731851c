/** Handlers of the organization endpoints. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { OrganizationsApi } from "./Api.ts"
import { Organizations } from "./Service.ts"

export const organizations = handlersOf(
  Apis.platform(OrganizationsApi),
  "organizations",
  Effect.fn(function* (handlers) {
    const organizations = yield* Organizations
    return handlers.handleAll({
      list: ({ query }) => organizations.list(query),
      create: ({ payload }) =>
        Effect.map(organizations.create(payload), ({ isNew, organization }) =>
          // Both declared responses have the same body, so the status is set explicitly.
          isNew
            ? created(`/api/platform/organizations/${organization.id}`, organization)
            : HttpServerResponse.jsonUnsafe(organization, { status: 200 }),
        ),
      get: ({ params }) => organizations.get(params.orgId),
      update: ({ params, payload }) => organizations.update(params.orgId, payload),
      delete: ({ params, query }) => organizations.remove(params.orgId, query.confirm),
    })
  }),
)
