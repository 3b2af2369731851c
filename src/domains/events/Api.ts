/** `GET /events`: pages of the event stream, or a live stream. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { EventRecord } from "../../kernel/contract/Event.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { FollowEventsNodeFull, FollowEventsTooManyStreams } from "./Errors.ts"
import { filterQuery, orderQuery } from "./Model.ts"

const LIVE = "text/event-stream"

const streamContent = {
  schema: {
    type: "string",
    description:
      "One Server-Sent Event per event: `id` is a cursor, `event` is the event name, `data` is the event as JSON on one line. A comment every 15 seconds keeps the connection open.",
  },
  example:
    'id: 2bWx0Qk7\nevent: CUSTOMER_DELETED\ndata: {"id":"0198c2b0-5f3e-7c1d-a3b4-9d2f6c1e8a70","type":"CUSTOMER_DELETED","timestamp":"2026-01-31T09:00:00.000Z","organizationId":"019c1335-fa80-7c1d-a3b4-9d2f6c1e8a71","actor":{"id":"019c1335-fa80-7c1d-a3b4-9d2f6c1e8a72","name":"Build server"},"data":{"id":"019c1335-fa80-7c1d-a3b4-9d2f6c1e8a73","slug":"globex","name":"Globex"}}\n\n',
}

interface Responses {
  readonly [status: string]: { readonly content?: Readonly<Record<string, object>> }
}

// The generator documents only a stream of bytes.
const describe = (operation: { readonly responses: Responses }) => ({
  ...operation,
  responses: {
    ...operation.responses,
    200: { ...operation.responses["200"], content: { ...operation.responses["200"]?.content, [LIVE]: streamContent } },
  },
})

export class EventsApi extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/events", {
      query: { ...pageQuery, ...filterQuery, ...orderQuery },
      headers: {
        "last-event-id": Schema.optionalKey(Schema.String).annotate({
          description: "Live stream only: the `id` of the last event received. Takes precedence over `cursor`.",
        }),
      },
      success: [Page(EventRecord), HttpApiSchema.StreamUint8Array({ contentType: LIVE })],
      error: [InvalidCursor, ValidationFailed, FollowEventsTooManyStreams, FollowEventsNodeFull],
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List events, or follow them live",
          description:
            "All changes of the organization, oldest first. `nextCursor` is always usable: store it and send it later to read newer events. " +
            "With `order=desc` the newest come first, and the last page has no `nextCursor`. " +
            "With `Accept: text/event-stream`, the response is a live stream of Server-Sent Events. It starts with new events, " +
            "or after `Last-Event-ID` or `cursor`, and ignores `limit`. A cursor is valid for the filters that it was issued for, in pages and in streams.",
          transform: (operation) => describe(operation as Parameters<typeof describe>[0]),
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Events", description: "Changes of the organization, with time and actor." }),
  ) {}
