/** Handlers of entitlement groups. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { EntitlementGroupsApi } from "./Api.ts"
import { EntitlementGroups } from "./Service.ts"

export const entitlementGroups = handlersOf(
  Apis.core(EntitlementGroupsApi),
  "entitlementGroups",
  Effect.fn(function* (handlers) {
    const groups = yield* EntitlementGroups
    return handlers.handleAll({
      list: ({ query }) => groups.list(query),
      create: ({ payload }) =>
        Effect.map(groups.create(payload), (group) => created(`/api/entitlement-groups/${group.slug}`, group)),
      get: ({ params }) => groups.get(params.entitlementGroupSlug),
      update: ({ params, payload }) => groups.update(params.entitlementGroupSlug, payload),
      delete: ({ params }) => groups.delete(params.entitlementGroupSlug),
      attach: ({ params, payload }) => groups.attach(params.entitlementGroupSlug, payload.entitlementSlug),
      detach: ({ params }) => groups.detach(params.entitlementGroupSlug, params.entitlementSlug),
    })
  }),
)
