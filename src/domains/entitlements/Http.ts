/** Handlers of entitlements. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { pageResponse } from "../../kernel/contract/Page.ts"
import { EntitlementsApi } from "./Api.ts"
import { GroupMemberships } from "./GroupMemberships.ts"
import { Entitlements } from "./Service.ts"

export const entitlements = handlersOf(
  Apis.core(EntitlementsApi),
  "entitlements",
  Effect.fn(function* (handlers) {
    const entitlements = yield* Entitlements
    const memberships = yield* GroupMemberships
    return handlers.handleAll({
      list: ({ query }) => Effect.map(entitlements.list(query), pageResponse),
      create: ({ payload }) =>
        Effect.map(
          payload.groupSlugs === undefined || payload.groupSlugs.length === 0
            ? entitlements.create(payload)
            : memberships.creating(payload.groupSlugs, (joining) => entitlements.create(payload, joining)),
          (entitlement) => created(`/api/entitlements/${entitlement.slug}`, entitlement),
        ),
      get: ({ params }) => entitlements.get(params.entitlementSlug),
      update: ({ params, payload }) => entitlements.update(params.entitlementSlug, payload),
      delete: ({ params }) => entitlements.delete(params.entitlementSlug),
    })
  }),
)
