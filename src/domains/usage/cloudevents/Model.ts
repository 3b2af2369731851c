/** Usage events in the CloudEvents format (contract, section 5). */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"

/** The maximum of events in a batch. */
export const MAX_EVENTS = 1000

/**
 * Body of `POST /usage-events`: one CloudEvent, or up to 1,000. Each has its own result, so their properties are not
 * validated here. `Any`: the decoder would check every value of `Unknown` again, although parsed JSON is always JSON.
 */
export const CloudEvent = Schema.Record(Schema.String, Schema.Any).annotate({
  ...component("CloudEvent"),
  description:
    "CloudEvents 1.0: `specversion`, `id`, `source`, `subject` (slug of the instance), `type` (slug of the entitlement), `time` (default now), `data.value`, `data.uniqueKey`. Extension attributes are ignored",
})

export const CloudEventBatch = Schema.Array(Schema.Any)
  .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_EVENTS))
  .annotate({ ...component("CloudEventBatch"), description: "Up to 1,000 CloudEvents" })

/** The result of each event, in the order of the request. */
export const CloudEventResults = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      id: Schema.NullOr(Schema.String).annotate({ description: "`null` if the event has none" }),
      status: Schema.Literals(["accepted", "duplicate", "rejected"]).annotate(
        component("UsageEventStatus", "accepted"),
      ),
      code: Schema.optionalKey(
        Schema.String.annotate({ description: "Code of the problem, if the event was rejected" }),
      ),
      message: Schema.optionalKey(Schema.String),
    }).annotate(component("UsageEventResult", { index: 0, id: "5f2d8e1c" })),
  ),
}).annotate(component("UsageEventResults"))

export type CloudEventResult = (typeof CloudEventResults.Type)["results"][number]
