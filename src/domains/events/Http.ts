/** Handlers of the event stream. */
import { Effect, Stream } from "effect"
import { HttpServerRespondable, HttpServerResponse } from "effect/http"
import type { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as Apis from "../../kernel/contract/Apis.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { OrganizationAccess } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { EventsApi } from "./Api.ts"
import type { Admission } from "./LiveEvents.ts"
import { LiveEvents } from "./LiveEvents.ts"
import { filterOf } from "./Model.ts"
import { wantsStream } from "./Rules.ts"
import { Events } from "./Service.ts"

const LIVE = "text/event-stream"

const HEADERS = {
  "cache-control": "no-cache, no-transform",
  // nginx would hold events back until its buffer is full.
  "x-accel-buffering": "no",
  // The connection is of no other use, and a node that stops must not wait for it.
  connection: "close",
}

const RETRY_AFTER_SECONDS = "15"

const inHeader = ({ detail }: InvalidCursor) =>
  new InvalidCursor({
    detail,
    errors: [{ location: "header.last-event-id", message: "is not an id of this stream under these filters" }],
  })

const credentialOf = HttpApiBuilder.securityDecode(OrganizationAccess.security.organizationToken)

export const events = handlersOf(
  Apis.core(EventsApi),
  "events",
  Effect.fn(function* (handlers) {
    const events = yield* Events
    const live = yield* LiveEvents
    const access = yield* OrganizationAccess

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ endpoint, group, headers, query, request }) {
        const { organizationId } = yield* Caller
        const filter = filterOf(query)
        if (request.method === "HEAD" || !wantsStream(request.headers["accept"])) {
          return yield* events.list(organizationId, filter, query)
        }
        const context = yield* Effect.context<HttpRouter.Provided>()
        const credential = yield* credentialOf
        // What the listener does with a new request: whatever would be refused now ends the stream.
        const admission = access
          .organizationToken(Effect.succeed(HttpServerResponse.empty()), { credential, endpoint, group })
          .pipe(
            Effect.as<Admission>("admitted"),
            Effect.catch(() => Effect.succeed<Admission>("refused")),
            Effect.catchCause(() => Effect.succeed<Admission>("unknown")),
            Effect.provideContext(context),
          )
        const last = headers["last-event-id"]
        // The header is newer: a client that reconnects sends the first request's query again.
        const resumes = last !== undefined && last !== ""
        return yield* live.follow({ organizationId, filter, cursor: resumes ? last : query.cursor, admission }).pipe(
          Effect.map((text) =>
            HttpServerResponse.stream(Stream.encodeText(text), { contentType: LIVE, headers: HEADERS }),
          ),
          Effect.catchTags({
            "Request.InvalidCursor": (refused) => Effect.fail(resumes ? inHeader(refused) : refused),
            "FollowEvents.TooManyStreams": (refused) =>
              Effect.map(
                HttpServerRespondable.toResponse(refused),
                HttpServerResponse.setHeader("retry-after", RETRY_AFTER_SECONDS),
              ),
          }),
        )
      }),
    })
  }),
)
