/** Handlers of offline bundles. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { created } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { OfflineBundlesApi } from "./Api.ts"
import { OfflineBundles } from "./Service.ts"

export const offlineBundles = handlersOf(
  Apis.core(OfflineBundlesApi),
  "offlineBundles",
  Effect.fn(function* (handlers) {
    const bundles = yield* OfflineBundles
    return handlers.handleAll({
      issue: ({ params, payload }) =>
        Effect.map(bundles.issue(params.instanceSlug, payload ?? {}), (issued) =>
          created(`/api/instances/${params.instanceSlug}/offline-bundles/${issued.id}`, issued),
        ),
      list: ({ params, query }) => bundles.list(params.instanceSlug, query),
      get: ({ params }) => bundles.get(params.instanceSlug, params.bundleId),
      revoke: ({ params, query }) =>
        bundles.revoke(params.instanceSlug, params.bundleId, { release: query.release === "true" }),
    })
  }),
)
