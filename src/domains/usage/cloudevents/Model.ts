/** Usage events in the CloudEvents format (contract, section 5). */
import { Schema } from "effect"

/** Most events of one batch. */
export const MAX_EVENTS = 1000

/** Body of `POST /usage-events`: one CloudEvent, or up to 1,000. Each is judged by itself, so their members are open. */
export const CloudEvent = Schema.Record(Schema.String, Schema.Unknown).annotate({
  description:
    "CloudEvents 1.0: `specversion`, `id`, `source`, `subject` (slug of the instance), `type` (slug of the entitlement), `time` (now if absent), `data.value`, `data.uniqueKey`. Extension attributes are ignored",
})

// `Any`, because `Unknown` would be gone through once more, though whatever came out of a JSON text is JSON.
export const CloudEventBatch = Schema.Array(Schema.Any)
  .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_EVENTS))
  .annotate({ description: "Up to 1,000 CloudEvents" })

/** What became of each event, in the order sent. */
export const CloudEventResults = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      id: Schema.NullOr(Schema.String).annotate({ description: "`null` for an event without one" }),
      status: Schema.Literals(["accepted", "duplicate", "rejected"]),
      code: Schema.optionalKey(Schema.String.annotate({ description: "Code of the problem, if it was rejected" })),
      message: Schema.optionalKey(Schema.String),
    }),
  ),
})

export type CloudEventResult = (typeof CloudEventResults.Type)["results"][number]
