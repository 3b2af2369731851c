/** Bodies of usage reports. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { FreeObject, Text } from "../../../kernel/values/Text.ts"
import { TimestampInput } from "../../../kernel/values/Timestamp.ts"

/** Body of `POST /instances/{instanceSlug}/entitlements/{entitlementSlug}/usage`. */
export const ReportUsage = Schema.Struct({
  value: Schema.optionalKey(
    Schema.Union([
      Schema.Finite,
      Schema.Struct({ type: Schema.Literal("number"), value: Schema.Finite }).annotate(component("NumberValue")),
    ]).annotate({
      description:
        "At most 18 digits; negative only to correct a `SUM`. Optional where it does not count: for a `UNIQUE_COUNT`, and for an append to a `COUNT`",
    }),
  ),
  behavior: Schema.optionalKey(
    Schema.Literals(["append", "set"]).annotate({
      ...component("ReportBehavior"),
      description: "`append` (default) adds to the period; `set` replaces everything before it in the period",
    }),
  ),
  transactionId: Schema.optionalKey(
    Text(1, 255).annotate({ description: "The report is counted once in 35 days, even if it is sent again" }),
  ),
  uniqueKey: Schema.optionalKey(Text(1, 255).annotate({ description: "What a `UNIQUE_COUNT` counts once per period" })),
  timestamp: Schema.optionalKey(TimestampInput).annotate({
    description: "When the usage happened: at most 35 days in the past and 5 minutes in the future; default now",
  }),
  metadata: Schema.optionalKey(FreeObject),
}).annotate(component("ReportUsage"))

export type ReportUsage = typeof ReportUsage.Type
