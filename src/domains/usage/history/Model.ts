/** Usage that can be viewed and corrected: its events, and its history in buckets. */
import { Schema } from "effect"
import { ActorReference } from "../../../kernel/contract/Caller.ts"
import { component } from "../../../kernel/contract/Component.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { Timestamp, TimestampInput } from "../../../kernel/values/Timestamp.ts"

/** What a credit paid of an event of usage. */
const PaidByCredit = Schema.Struct({
  id: Uuid.annotate({ description: "The credit" }),
  quantity: Amount.annotate({ description: "Negative: what a correction returned to it" }),
}).annotate(component("PaidByCredit", { quantity: 250 }))

/** An event of usage: what was reported, consumed or committed. */
export const UsageEventRecord = Schema.Struct({
  id: Schema.String.annotate({ description: "Names the event among those of the entitlement" }),
  value: Amount,
  uniqueKey: Schema.NullOr(Schema.String),
  transactionId: Schema.NullOr(Schema.String).annotate({
    description: "The transaction id of the report, or the id of the CloudEvent",
  }),
  source: Schema.NullOr(Schema.String).annotate({ description: "The source of the CloudEvent" }),
  timestamp: Timestamp.annotate({ description: "When it was used" }),
  reportedAt: Timestamp,
  reportedBy: ActorReference,
  metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
  credits: Schema.optionalKey(Schema.Array(PaidByCredit)).annotate({
    description: "What credits paid of it, also if it was voided later. Only if they paid something",
  }),
  voidedAt: Schema.NullOr(Timestamp).annotate({ description: "A voided event counts no more; otherwise `null`" }),
  voidedBy: Schema.NullOr(ActorReference),
}).annotate(
  component("UsageEvent", {
    id: "mfz3k800-17",
    value: 25,
    uniqueKey: null,
    transactionId: "job-2026-01-31-0007",
    source: null,
    metadata: null,
    voidedAt: null,
    voidedBy: null,
  }),
)
export type UsageEventRecord = typeof UsageEventRecord.Type

/** Filters of the list of events. */
export const usageEventFilters = {
  since: Schema.optionalKey(TimestampInput.annotate({ description: "Only usage at or after this time" })),
  until: Schema.optionalKey(TimestampInput.annotate({ description: "Only usage before this time" })),
}
export interface UsageEventFilters {
  readonly since?: Date
  readonly until?: Date
}

const bucketSizes = ["HOUR", "DAY", "MONTH"] as const
export type BucketSize = (typeof bucketSizes)[number]

export const MAX_BUCKETS = 750

/** The query of a history. */
export const historyQuery = {
  bucket: Schema.Literals(bucketSizes).annotate({
    ...component("UsageBucketSize", "DAY"),
    description: "The length of a bucket, in UTC",
  }),
  from: TimestampInput.annotate({ description: "The first bucket contains this time" }),
  to: TimestampInput.annotate({
    description: `The last bucket ends at this time or later; at most ${MAX_BUCKETS} buckets`,
  }),
}
export interface HistoryQuery {
  readonly bucket: BucketSize
  readonly from: Date
  readonly to: Date
}

export const UsageBucket = Schema.Struct({
  start: Timestamp,
  end: Timestamp.annotate({ description: "Exclusive" }),
  value: Amount.annotate({ description: "The aggregation of the bucket's own events that count; 0 if there are none" }),
  event_count: Schema.Int.annotate({ description: "The number of events in the bucket, without voided ones" }),
}).annotate(component("UsageBucket", { value: 250, event_count: 17 }))
export type UsageBucket = typeof UsageBucket.Type

export const UsageHistory = Schema.Struct({ items: Schema.Array(UsageBucket) }).annotate(component("UsageHistory"))
