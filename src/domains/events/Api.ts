/** `GET /events`: pages of the stream, or the stream itself. */
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
      "One Server-Sent Event for each event: `id` is a cursor, `event` the name, `data` the event as JSON in one line. Comments every 15 seconds keep the connection open.",
  },
  example:
    'id: 2bWx0...\nevent: CUSTOMER_CREATION\ndata: {"id":"0198c2b0-5f3e-7c1d-a3b4-9d2f6c1e8a70","type":"CUSTOMER_CREATION", ...}\n\n',
}

const parameters: Readonly<Record<string, string>> = {
  type: "Only events of these names: a comma list, or the parameter several times",
  resource:
    "Only events about this record: the `id` in their `data`; where a record has none, its slug, or the instance, license or connector that `data` names",
  "last-event-id": "Live stream only: the `id` of the last event that was received; it counts before `cursor`",
}

interface Parameter {
  readonly name: string
}

interface Responses {
  readonly [status: string]: { readonly content?: Readonly<Record<string, object>> }
}

// The generator documents a stream of bytes, and no descriptions of checked or decoded parameters.
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
          summary: "Read the organization's events, or follow them live",
          description:
            "Every change of the organization, oldest first. `nextCursor` is always usable: keep it and ask again later for what came since. " +
            "With `Accept: text/event-stream` the answer is a live stream of Server-Sent Events that begins with what comes from now on, " +
            "or behind `Last-Event-ID` or `cursor`; `limit` does not count there. A cursor belongs to the filters it was made under, and is good for pages and streams.",
          transform: (operation) => describe(operation as Parameters<typeof describe>[0]),
        }),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Events", description: "What changed, when, and who changed it." })) {}
