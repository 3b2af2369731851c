/** HTTP handlers for feature flags and the manifest. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import * as Apis from "../../kernel/contract/Apis.ts"
import { created } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { FeatureFlagsApi } from "./Api.ts"
import { etagOf, matchesEtag } from "../../kernel/values/EntityTag.ts"
import { FeatureFlags } from "./Service.ts"

export const featureFlags = handlersOf(
  Apis.core(FeatureFlagsApi),
  "featureFlags",
  Effect.fn(function* (handlers) {
    const flags = yield* FeatureFlags
    return handlers.handleAll({
      list: ({ query }) => flags.list(query),
      create: ({ payload }) =>
        Effect.map(flags.create(payload), (flag) => created(`/api/feature-flags/${flag.key}`, flag)),
      get: ({ params }) => flags.get(params.key),
      update: ({ params, payload }) => flags.update(params.key, payload),
      delete: ({ params }) => flags.delete(params.key),
      manifest: ({ headers }) =>
        Effect.map(flags.manifest(), (manifest) => {
          // Serialized here, because the ETag must match the exact text sent.
          const text = JSON.stringify(manifest)
          const etag = etagOf(text)
          return matchesEtag(etag, headers["if-none-match"])
            ? HttpApiSchema.withHeaders({ body: undefined, headers: { etag } })
            : HttpServerResponse.text(text, {
                contentType: "application/json",
                headers: { etag, "x-manifest-capabilities": "read" },
              })
        }),
    })
  }),
)
