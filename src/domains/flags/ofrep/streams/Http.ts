/** Handler of the event streams of evaluated flags. */
import { Effect, Option, Redacted } from "effect"
import * as Apis from "../../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../../kernel/contract/Handlers.ts"
import { invalidCredential } from "../../../../kernel/contract/Problem.ts"
import { rejectedByLimit, requireStreamAccepted, streamResponse } from "../../../events/changes/Response.ts"
import { ChangeStreams } from "../../../events/changes/Service.ts"
import { OfrepStreamsApi } from "./Api.ts"
import { StreamTickets } from "./Tickets.ts"

export const ofrepStreams = handlersOf(
  Apis.open(OfrepStreamsApi),
  "ofrepStreams",
  Effect.fn(function* (handlers) {
    const streams = yield* ChangeStreams
    const tickets = yield* StreamTickets
    return handlers.handleAll({
      follow: Effect.fnUntraced(function* ({ params, request }) {
        yield* requireStreamAccepted(request)
        const opened = yield* tickets.open(Redacted.make(params.ticket))
        if (Option.isNone(opened)) return yield* invalidCredential()
        return yield* streams.follow(opened.value).pipe(
          Effect.map(({ body }) => streamResponse(body)),
          Effect.catchTags({
            "FollowChanges.TooManyStreams": rejectedByLimit,
            "FollowChanges.NodeFull": rejectedByLimit,
          }),
        )
      }),
    })
  }),
)
