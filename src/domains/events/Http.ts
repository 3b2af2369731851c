/** Handlers of the event stream. */
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as Apis from "../../kernel/contract/Apis.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { OrganizationAccess } from "../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { pageOfTexts } from "../../kernel/contract/Page.ts"
import { invalid, InvalidCursor } from "../../kernel/contract/Problem.ts"
import { EVENT_STREAM, STREAM_HEADERS, wantsStream } from "../../kernel/values/MediaTypes.ts"
import { EventsApi } from "./Api.ts"
import { rejectedByLimit } from "./changes/Response.ts"
import type { Admission } from "./LiveEvents.ts"
import { LiveEvents } from "./LiveEvents.ts"
import { filterOf } from "./Model.ts"
import { Events } from "./Service.ts"

const inHeader = ({ detail }: InvalidCursor) =>
  new InvalidCursor({
    detail,
    errors: [
      { location: "header.last-event-id", message: "must be an event id from this stream with the same filters" },
    ],
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
          return pageOfTexts(yield* events.list(organizationId, filter, query))
        }
        if (query.order === "desc") {
          return yield* invalid("query.order", "must be asc in a live stream, which only reads forward", query.order)
        }
        const context = yield* Effect.context<HttpRouter.Provided>()
        const credential = yield* credentialOf
        // Authenticates like a new request. If that is denied, the stream ends.
        const admission = access
          .organizationToken(Effect.succeed(HttpServerResponse.empty()), { credential, endpoint, group })
          .pipe(
            Effect.as<Admission>("admitted"),
            Effect.catch(() => Effect.succeed<Admission>("refused")),
            Effect.catchCause(() => Effect.succeed<Admission>("unknown")),
            Effect.provideContext(context),
          )
        const last = headers["last-event-id"]
        // The header is newer: a client that reconnects repeats the query of its first request.
        const resumes = last !== undefined && last !== ""
        return yield* live.follow({ organizationId, filter, cursor: resumes ? last : query.cursor, admission }).pipe(
          Effect.map((text) =>
            HttpServerResponse.stream(Stream.encodeText(text), { contentType: EVENT_STREAM, headers: STREAM_HEADERS }),
          ),
          Effect.catchTags({
            "Request.InvalidCursor": (problem) => Effect.fail(resumes ? inHeader(problem) : problem),
            "FollowEvents.TooManyStreams": rejectedByLimit,
          }),
        )
      }),
    })
  }),
)
