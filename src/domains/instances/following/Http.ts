/** Handler of streams of changes. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { Caller, mayUseInstance } from "../../../kernel/contract/Caller.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { rejectedByLimit, requireStreamAccepted, streamResponse } from "../../events/changes/Response.ts"
import { ChangeStreams } from "../../events/changes/Service.ts"
import { instanceNotFound } from "../Errors.ts"
import { ChangesApi } from "./Api.ts"
import { followerOf } from "./Follower.ts"

export const changes = handlersOf(
  Apis.core(ChangesApi),
  "changes",
  Effect.fn(function* (handlers) {
    const streams = yield* ChangeStreams
    return handlers.handleAll({
      follow: Effect.fnUntraced(function* ({ query: { instance }, request }) {
        yield* requireStreamAccepted(request)
        const caller = yield* Caller
        const named = instance === undefined ? undefined : [...new Set(instance)]
        const hidden = named?.find((slug) => !mayUseInstance(caller, slug))
        if (hidden !== undefined) return yield* instanceNotFound(hidden)
        return yield* streams.follow(followerOf(caller, named)).pipe(
          Effect.flatMap(({ body, unknown: [missing] }) =>
            missing === undefined ? Effect.succeed(streamResponse(body)) : Effect.fail(instanceNotFound(missing)),
          ),
          Effect.catchTags({
            "FollowChanges.TooManyStreams": rejectedByLimit,
            "FollowChanges.NodeFull": rejectedByLimit,
          }),
        )
      }),
    })
  }),
)
