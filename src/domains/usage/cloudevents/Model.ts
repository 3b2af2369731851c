/** Usage events in the CloudEvents format. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"

/** How the `source` of a line of an offline ledger begins. A UUID follows. */
export const LEDGER_SOURCE = "urn:keyshelf:ledger:"

/** The maximum of events in a batch. */
export const MAX_EVENTS = 1000

/**
 * Body of `POST /usage-events`: one CloudEvent, or up to 1,000. Each has its own result, so their properties are not
 * validated here. `Any`: the decoder would check every value of `Unknown` again, although parsed JSON is always JSON.
 */
export const CloudEvent = Schema.Record(Schema.String, Schema.Any).annotate({
  ...component("CloudEvent"),
  description:
    "CloudEvents 1.0: `specversion`, `id`, `source`, `subject` (slug of the instance), `type` (slug of the entitlement), `time` (default now), `data.value`, `data.uniqueKey`, or the same JSON as bytes in `data_base64`. Extension attributes are ignored",
})

// An event that is not an object is rejected with its own outcome. This only describes the items.
const anyEvent = Schema.makeFilter<unknown>(() => true, { toJsonSchema: () => ({ type: "object" }) })

export const CloudEventBatch = Schema.Array(Schema.Any.check(anyEvent))
  .check(Schema.isMinLength(1), Schema.isMaxLength(MAX_EVENTS))
  .annotate({ ...component("CloudEventBatch"), description: "Up to 1,000 CloudEvents" })

/** What became of an event. */
export const UsageEventStatus = Schema.Literals(["accepted", "duplicate", "rejected"]).annotate(
  component("UsageEventStatus", "accepted"),
)

/** Why an event was rejected. */
export const rejectionFields = {
  code: Schema.optionalKey(Schema.String.annotate({ description: "Code of the problem, if the event was rejected" })),
  message: Schema.optionalKey(Schema.String),
}

/** The result of each event, in the order of the request. */
export const CloudEventResults = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      id: Schema.NullOr(Schema.String).annotate({ description: "`null` if the event has none" }),
      status: UsageEventStatus,
      ...rejectionFields,
    }).annotate(component("UsageEventResult", { index: 0, id: "5f2d8e1c" })),
  ),
}).annotate(component("UsageEventResults"))

export type CloudEventResult = (typeof CloudEventResults.Type)["results"][number]

/** The outcome of an event. */
export type Outcome = Pick<CloudEventResult, "status" | "code" | "message">

/** The outcome of an event that does not count. */
export const rejected = (code: string, message: string): Outcome => ({ status: "rejected", code, message })

/** The outcome of an event that is not valid. */
export const invalidEvent = (message: string): Outcome => rejected("Request.ValidationFailed", message)
