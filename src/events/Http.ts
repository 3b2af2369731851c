/** Handlers of the event stream. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CoreApi } from "../CoreApi.ts"
import { Caller } from "../kernel/Caller.ts"
import { Events } from "./Service.ts"

export const events = HttpApiBuilder.group(
  CoreApi,
  "events",
  Effect.fn(function* (handlers) {
    const events = yield* Events
    return handlers.handleAll({
      list: ({ query }) => Effect.flatMap(Caller, ({ organizationId }) => events.list(organizationId, query)),
    })
  }),
)
