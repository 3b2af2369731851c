/** Bodies of usage reports (contract, section 5). */
import { Schema } from "effect"
import { FreeObject, Text } from "../../../kernel/values/Text.ts"
import { TimestampInput } from "../../../kernel/values/Timestamp.ts"

/** Body of `POST /instances/{instanceSlug}/entitlements/{entitlementSlug}/usage`. */
export const ReportUsage = Schema.Struct({
  value: Schema.optionalKey(
    Schema.Union([Schema.Finite, Schema.Struct({ type: Schema.Literal("number"), value: Schema.Finite })]).annotate({
      description:
        "At most 18 digits; negative only to correct a `SUM`. It may be absent where it does not count: `UNIQUE_COUNT`, and an append to a `COUNT`",
    }),
  ),
  behavior: Schema.optionalKey(
    Schema.Literals(["append", "set"]).annotate({
      description: "`append` (default) adds to the period; `set` replaces what is before it in the period",
    }),
  ),
  transactionId: Schema.optionalKey(
    Text(1, 255).annotate({ description: "Counts the report once, for 35 days, however often it is sent" }),
  ),
  uniqueKey: Schema.optionalKey(Text(1, 255).annotate({ description: "What a `UNIQUE_COUNT` counts once a period" })),
  timestamp: Schema.optionalKey(TimestampInput).annotate({
    description: "When it was used, at most 35 days back and 5 minutes ahead; now if absent",
  }),
  metadata: Schema.optionalKey(FreeObject),
})

export type ReportUsage = typeof ReportUsage.Type
