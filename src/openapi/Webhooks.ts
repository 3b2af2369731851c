/**
 * The `webhooks` section of a document: what the service sends to webhook endpoints. The generator does not support
 * webhooks. So each event is first an endpoint of a separate group, and then moves to the section.
 */
import { Array as Arr, Schema, String as Str } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import type { HttpApi } from "effect/http-api"
import { eventPayloads } from "../api/EventPayloads.ts"
import { Uuid } from "../kernel/values/Identifiers.ts"
import { isPart, mapContent, partOf } from "./Parts.ts"
import type { Part } from "./Parts.ts"

const FOLDER = "/webhook-events/"

/** Headers of a delivery, as Standard Webhooks defines them. */
const headers = {
  "webhook-id": Uuid.annotate({
    description: "Id of the event, the same in every attempt. Use it to ignore duplicates",
  }),
  "webhook-timestamp": Schema.String.annotate({
    description: "Time of the attempt in seconds since 1970; part of the signature",
  }),
  "webhook-signature": Schema.String.annotate({
    description:
      "`v1,` and the base64 of an HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`; during a rotation of the secret, several separated by spaces",
  }),
}

class WebhookEvents extends HttpApiGroup.make("events")
  .add(
    ...Arr.map(eventPayloads, ({ event, schema, summary }) =>
      HttpApiEndpoint.post(event, `${FOLDER}${event}`, {
        headers: Schema.Struct(headers),
        payload: schema,
        success: HttpApiSchema.NoContent,
      }).annotateMerge(OpenApi.annotations({ identifier: Str.snakeToCamel(event.toLowerCase()), summary })),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Events", description: "What the service sends to webhook endpoints." }),
  ) {}

/** The API with the events as endpoints. */
export const addEvents = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
) => api.add(WebhookEvents)

const deliveryOf = (operation: Part, example: (schema: Part) => unknown): Part => {
  const { operationId, parameters, summary, tags } = operation
  const body = partOf(operation, "requestBody")
  return {
    tags,
    operationId,
    summary,
    parameters,
    requestBody: {
      ...body,
      content: mapContent(partOf(body, "content"), (media) => ({
        ...media,
        example: example(partOf(media, "schema")),
      })),
    },
    responses: {
      "2XX": { description: "The event is received. Any other response, or none within 30 s, is retried" },
    },
    security: [],
  }
}

/** The document with the endpoints of {@link addEvents} in its `webhooks` section, named after their events. */
export const moveEvents = (document: Part, example: (schema: Part) => unknown): Part => {
  const paths = Object.entries(partOf(document, "paths"))
  const events = paths.filter(([path]) => path.startsWith(FOLDER))
  if (events.length === 0) return document
  return {
    ...document,
    paths: Object.fromEntries(paths.filter((path) => !events.includes(path))),
    webhooks: Object.fromEntries(
      events.map(([path, methods]) => [
        path.slice(FOLDER.length),
        { post: deliveryOf(partOf(isPart(methods) ? methods : {}, "post"), example) },
      ]),
    ),
  }
}
