/** Handlers of ledgers. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { OfflineLedgersApi } from "./Api.ts"
import { OfflineLedgers } from "./Service.ts"

export const offlineLedgers = handlersOf(
  Apis.core(OfflineLedgersApi),
  "offlineLedgers",
  Effect.fn(function* (handlers) {
    const ledgers = yield* OfflineLedgers
    return handlers.handleAll({
      upload: ({ params, payload }) => ledgers.upload(params.instanceSlug, payload),
      list: ({ params, query }) => ledgers.list(params.instanceSlug, query),
    })
  }),
)
