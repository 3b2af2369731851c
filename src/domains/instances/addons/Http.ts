/** Handlers of add-ons. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { AddOnsApi } from "./Api.ts"
import { AddOns } from "./Service.ts"

export const addOns = handlersOf(
  Apis.core(AddOnsApi),
  "addOns",
  Effect.fn(function* (handlers) {
    const addOns = yield* AddOns
    return handlers.handleAll({
      list: ({ params, query }) => addOns.list(params.instanceSlug, query),
      get: ({ params }) => addOns.get(params.instanceSlug, params.familySlug),
      put: ({ params, payload }) => addOns.put(params.instanceSlug, params.familySlug, payload),
      delete: ({ params }) => addOns.delete(params.instanceSlug, params.familySlug),
    })
  }),
)
