/** `GET /events`: pages of the event stream, or a live stream. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { EventRecord } from "../../kernel/contract/Event.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { FollowEventsNodeFull, FollowEventsTooManyStreams } from "./Errors.ts"
import { filterQuery } from "./Model.ts"

const LIVE = "text/event-stream"

const streamContent = {
  schema: {
    type: "string",
    description:
      "One Server-Sent Event per event: `id` is a cursor, `event` is the event name, `data` is the event as JSON on one line. A comment every 15 seconds keeps the connection open.",
  },
  example:
    'id: 2bWx0...\nevent: CUSTOMER_CREATION\ndata: {"id":"0198c2b0-5f3e-7c1d-a3b4-9d2f6c1e8a70","type":"CUSTOMER_CREATION", ...}\n\n',
}

const parameters: Readonly<Record<string, string>> = {
  type: "Only events with these names. Separate several names by commas or repeat the parameter.",
  resource:
    "Only events about this record: the `id` in `data`, otherwise the slug, otherwise the instance, license or connector that `data` names",
  actor: "Only events of the actor with this id, as `actor.id` of an event",
  since: "Only events with this `timestamp` or a later one: ISO 8601 with an offset",
  until: "Only events with an earlier `timestamp`: ISO 8601 with an offset",
  "last-event-id": "Live stream only: the `id` of the last event received. Takes precedence over `cursor`.",
}

interface Parameter {
  readonly name: string
}

interface Responses {
  readonly [status: string]: { readonly content?: Readonly<Record<string, object>> }
}

// The generator documents only a stream of bytes, and omits descriptions of checked or decoded parameters.
const describe = (operation: { readonly parameters: ReadonlyArray<Parameter>; readonly responses: Responses }) => ({
  ...operation,
  parameters: operation.parameters.map((parameter) => {
    const description = parameters[parameter.name]
    return description === undefined ? parameter : { ...parameter, description }
  }),
  responses: {
    ...operation.responses,
    200: { ...operation.responses["200"], content: { ...operation.responses["200"]?.content, [LIVE]: streamContent } },
  },
})

export class EventsApi extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/events", {
      query: { ...pageQuery, ...filterQuery },
      headers: {
        "last-event-id": Schema.optionalKey(Schema.String),
      },
      success: [Page(EventRecord), HttpApiSchema.StreamUint8Array({ contentType: LIVE })],
      error: [InvalidCursor, FollowEventsTooManyStreams, FollowEventsNodeFull],
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List events, or follow them live",
          description:
            "All changes of the organization, oldest first. `nextCursor` is always usable: store it and send it later to read newer events. " +
            "With `Accept: text/event-stream`, the response is a live stream of Server-Sent Events. It starts with new events, " +
            "or after `Last-Event-ID` or `cursor`, and ignores `limit`. A cursor is valid for the filters that it was issued for, in pages and in streams.",
          transform: (operation) => describe(operation as Parameters<typeof describe>[0]),
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Events", description: "Changes of the organization, with time and actor." }),
  ) {}
