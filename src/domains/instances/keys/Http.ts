/** Handlers of license keys. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { created } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { LicenseKeysApi } from "./Api.ts"
import { LicenseKeys } from "./Service.ts"

export const licenseKeys = handlersOf(
  Apis.core(LicenseKeysApi),
  "licenseKeys",
  Effect.fn(function* (handlers) {
    const keys = yield* LicenseKeys
    return handlers.handleAll({
      list: ({ params, query }) => keys.list(params.instanceSlug, query),
      create: ({ params, payload }) =>
        Effect.map(keys.create(params.instanceSlug, payload), (key) =>
          created(`/api/instances/${params.instanceSlug}/keys/${key.slug}`, key),
        ),
      rotate: ({ params, payload = {} }) =>
        Effect.map(keys.rotate(params.instanceSlug, params.keySlug, payload), (key) =>
          created(`/api/instances/${params.instanceSlug}/keys/${key.slug}`, key),
        ),
      revoke: ({ params }) => keys.revoke(params.instanceSlug, params.keySlug),
    })
  }),
)
