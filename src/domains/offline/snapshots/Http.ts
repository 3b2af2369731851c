/** Handlers of snapshots. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { SnapshotsApi } from "./Api.ts"
import { Snapshots } from "./Service.ts"

export const snapshots = handlersOf(
  Apis.core(SnapshotsApi),
  "snapshots",
  Effect.fn(function* (handlers) {
    const service = yield* Snapshots
    return handlers.handleAll({
      get: Effect.fnUntraced(function* ({ headers, params }) {
        const maxAge = yield* service.nextPoll
        const { etag, token } = yield* service.read(params.instanceSlug, headers["if-none-match"])
        const cached = { etag, "cache-control": `private, max-age=${maxAge}`, "content-type": "application/jwt" }
        return token === undefined
          ? HttpServerResponse.empty({ status: 304, headers: cached })
          : HttpServerResponse.text(token, { contentType: "application/jwt", headers: cached })
      }),
    })
  }),
)
