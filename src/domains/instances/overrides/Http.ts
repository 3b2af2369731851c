/** Handlers of overrides. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../../kernel/values/Decimal.ts"
import { OverridesApi } from "./Api.ts"
import { Overrides } from "./Service.ts"

export const overrides = handlersOf(
  Apis.core(OverridesApi),
  "overrides",
  Effect.fn(function* (handlers) {
    const overrides = yield* Overrides
    return handlers.handleAll({
      list: ({ params, query }) => overrides.list(params.instanceSlug, query),
      get: ({ params }) => overrides.get(params.instanceSlug, params.entitlementSlug),
      put: ({ params, payload }) =>
        Effect.flatMap(withSentDigits(payload, ["value"]), (sent) =>
          overrides.put(params.instanceSlug, params.entitlementSlug, sent),
        ),
      delete: ({ params }) => overrides.delete(params.instanceSlug, params.entitlementSlug),
    })
  }),
)
