/** Usage and the check: how much an instance used, and may it use more (contract, sections 5 and 9). */
import { Schema } from "effect"
import { entitlementTypes } from "../entitlements/Model.ts"
import type { AggregationMethod, EntitlementType, ResetAnchor, ResetPeriod } from "../entitlements/Model.ts"
import { Amount } from "../kernel/ExactNumber.ts"
import { FreeObject, PathName, Text } from "../kernel/Text.ts"
import { Timestamp, TimestampInput } from "../kernel/Timestamp.ts"
import { Explanation } from "./ExplanationModel.ts"
import type { LicenseFacts } from "./ExplanationModel.ts"

/** Why a check was answered as it was: the first three allow, the others refuse (contract section 5). */
export const checkReasons = [
  "GRANTED",
  "UNLIMITED",
  "SOFT_LIMIT",
  "LIMIT_REACHED",
  "NOT_GRANTED",
  "ENTITLEMENT_NOT_FOUND",
  "LICENSE_NOT_STARTED",
  "LICENSE_EXPIRED",
] as const
export type CheckReason = (typeof checkReasons)[number]

const MOST_CHECKS = 100

/** Body of `POST /instances/{instanceSlug}/check`. */
export const CheckRequest = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      entitlement: PathName.annotate({ description: "Slug of the entitlement" }),
      requested: Schema.optionalKey(
        Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
          description: "How much more is wanted, for a `NUMBER`: 1 if absent, 0 asks whether usage is within the limit",
        }),
      ),
    }),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(MOST_CHECKS)),
  consume: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether what is allowed is used at once: all of it, or nothing. Needs `write:instances`",
    }),
  ),
  at: Schema.optionalKey(TimestampInput).annotate({
    description:
      "The instant the question is about; now if absent. A past one is answered by what was true then: the license, dates and grants of then, and the usage up to then, that instant included. Not together with `consume`",
  }),
  explain: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Whether each answer comes with its `explanation`" }),
  ),
})
export type CheckRequest = typeof CheckRequest.Type

const figure = (description: string) => Schema.NullOr(Amount).annotate({ description })

/** The answer to one check. */
export const CheckAnswer = Schema.Struct({
  entitlement: Schema.String,
  allowed: Schema.Boolean,
  reason: Schema.Literals(checkReasons),
  limit: figure("What the license grants per period, -1 when unlimited; `null` unless a `NUMBER` is granted"),
  usage: figure("What was used in the period; `null` unless the entitlement is a `NUMBER`"),
  remaining: figure(
    "What can still be had, before the request, or after it when consumed: the limit less what is used and what reservations hold; -1 when unlimited",
  ),
  overage: figure("How far usage is over the limit, at the same moment"),
  currentPeriodStart: Schema.NullOr(Timestamp),
  currentPeriodEnd: Schema.NullOr(Timestamp).annotate({
    description: "`null` when usage never starts again from zero",
  }),
  explanation: Schema.optionalKey(Explanation.annotate({ description: "If it was asked for by `explain`" })),
})

/** The answer to all checks, in the order asked. */
export const CheckResult = Schema.Struct({
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  license: Schema.String.annotate({ description: "Slug of the license version it is assigned" }),
  at: Timestamp,
  checks: Schema.Array(CheckAnswer),
})
export type CheckResult = typeof CheckResult.Type

/** The instance of a check and its license version. */
export interface CheckedInstance {
  readonly instance: string
  readonly license: string
  readonly startLicenseDate: Date
  readonly endLicenseDate: Date | null
  /** Read only where an explanation is asked for. */
  readonly facts?: LicenseFacts
}

/** An entitlement of a check with what is granted of it and a usage total that may be the current period's. */
export interface CheckedEntitlement {
  readonly entitlement: string
  readonly type: EntitlementType
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor | null
  /** A decimal, `true` or `false`, `{}` for a configuration; `null` when the license grants nothing. */
  readonly granted: string | null
  readonly overagePercent: number | null
  readonly periodStart: Date | null
  /** A decimal. */
  readonly used: string | null
  /** A decimal: what reservations hold. */
  readonly held: string | null
  /** The granted object of a `CONFIG`; read only where it is told. */
  readonly configuration?: Readonly<Record<string, unknown>> | null
}

/** A row without an entitlement stands for an instance of which only unknown entitlements were asked. */
export type CheckRow = CheckedInstance & (CheckedEntitlement | { readonly entitlement: null })

/** How an instance stands with one entitlement: the answer to a check of it, and what the check leaves out. */
export interface Standing {
  readonly type: EntitlementType
  /** The granted object of a `CONFIG`; `null` for other types, and where nothing is granted. */
  readonly configuration: Readonly<Record<string, unknown>> | null
  readonly answer: CheckResult["checks"][number]
}

const valueTypes = ["number", "unlimited", "boolean", "config"] as const

/** An amount, or what stands for it: -1 for unlimited, 1 and 0 for granted and not granted. */
export const UsageValue = Schema.Struct({
  type: Schema.Literals(valueTypes),
  value: Amount,
  event_count: Schema.Int.annotate({ description: "How many reports the value is made of" }),
})
export type UsageValue = typeof UsageValue.Type

/** What an instance may use of an entitlement in a period, and what it used. */
export const UsageEntry = Schema.Struct({
  currentPeriodStart: Timestamp,
  currentPeriodEnd: Schema.NullOr(Timestamp).annotate({
    description: "`null` when usage never starts again from zero",
  }),
  entitlementId: Schema.String,
  entitlementName: Schema.String,
  entitlementSlug: Schema.String,
  entitlementType: Schema.Literals(entitlementTypes),
  licenseValue: UsageValue,
  usageValue: UsageValue,
})
export type UsageEntry = typeof UsageEntry.Type

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

/** Most events of one batch. */
export const MOST_EVENTS = 1000

/** Body of `POST /usage-events`: one CloudEvent, or up to 1,000. Each is judged by itself, so their members are open. */
export const CloudEvent = Schema.Record(Schema.String, Schema.Unknown).annotate({
  description:
    "CloudEvents 1.0: `specversion`, `id`, `source`, `subject` (slug of the instance), `type` (slug of the entitlement), `time` (now if absent), `data.value`, `data.uniqueKey`. Extension attributes are ignored",
})
// `Any`, because `Unknown` would be gone through once more, though whatever came out of a JSON text is JSON.
export const CloudEventBatch = Schema.Array(Schema.Any)
  .check(Schema.isMinLength(1), Schema.isMaxLength(MOST_EVENTS))
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

/** An entitlement of an instance, with all that counting its usage needs. */
export interface Meter extends CheckedInstance {
  readonly organizationId: string
  readonly instanceId: string
  readonly entitlementId: string
  readonly entitlement: string
  readonly entitlementName: string
  readonly type: EntitlementType
  readonly aggregationMethod: AggregationMethod | null
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor | null
  readonly warningThresholdPercent: number | null
  readonly displayOrder: number
  readonly granted: string | null
  readonly overagePercent: number | null
  /** Read only where an explanation is asked for. */
  readonly configuration?: Readonly<Record<string, unknown>> | null
}
