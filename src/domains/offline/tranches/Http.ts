/** Handlers of tranches. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { TranchesApi } from "./Api.ts"
import { InstanceTranches } from "./Service.ts"

export const tranches = handlersOf(
  Apis.core(TranchesApi),
  "tranches",
  Effect.fn(function* (handlers) {
    const service = yield* InstanceTranches
    return handlers.handleAll({
      refill: ({ params, payload }) => service.refill(params.instanceSlug, payload),
      list: ({ params, query }) => service.list(params.instanceSlug, query),
      end: ({ params }) => service.end(params.instanceSlug, params.holder),
    })
  }),
)
