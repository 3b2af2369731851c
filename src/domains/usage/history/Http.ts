/** Handlers of the events of usage, and of its history. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { UsageEventsApi } from "./Api.ts"
import { UsageEvents } from "./Service.ts"

export const usageEvents = handlersOf(
  Apis.core(UsageEventsApi),
  "usageEvents",
  Effect.fn(function* (handlers) {
    const events = yield* UsageEvents
    return handlers.handleAll({
      list: ({ params, query }) => events.list(params.instanceSlug, params.entitlementSlug, query),
      void: ({ params }) => events.void(params.instanceSlug, params.entitlementSlug, params.eventId),
      history: ({ params, query }) => events.history(params.instanceSlug, params.entitlementSlug, query),
    })
  }),
)
