/** Handlers of entitlements. */
import { Effect } from "effect"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { writtenPage } from "../kernel/Page.ts"
import { Entitlements } from "./Service.ts"

export const entitlements = handlersOf(
  CoreApi,
  "entitlements",
  Effect.fn(function* (handlers) {
    const entitlements = yield* Entitlements
    return handlers.handleAll({
      list: ({ query }) => Effect.map(entitlements.list(query), writtenPage),
      create: ({ payload }) =>
        Effect.map(entitlements.create(payload), (entitlement) =>
          created(`/api/entitlements/${entitlement.slug}`, entitlement),
        ),
      get: ({ params }) => entitlements.get(params.entitlementSlug),
      update: ({ params, payload }) => entitlements.update(params.entitlementSlug, payload),
      delete: ({ params }) => entitlements.delete(params.entitlementSlug),
    })
  }),
)
