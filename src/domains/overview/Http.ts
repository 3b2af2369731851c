/** Handlers of the overview. */
import { Effect } from "effect"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { OverviewApi } from "./Api.ts"
import { Overviews } from "./Service.ts"

export const overview = handlersOf(
  Apis.core(OverviewApi),
  "overview",
  Effect.fn(function* (handlers) {
    const overviews = yield* Overviews
    return handlers.handleAll({ get: () => overviews.get })
  }),
)
