/** Meters, and usage as the API returns it. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EntitlementType } from "../../entitlements/Model.ts"
import type { AggregationMethod, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import type { Grant } from "../rules/Decision.ts"
import type { ShownTerms } from "../rules/Grant.ts"
import type { CheckedInstance } from "../rules/Terms.ts"

const valueTypes = ["number", "unlimited", "boolean", "config"] as const

/** An amount, or the number that represents it: -1 for unlimited, 1 and 0 for granted and not granted. */
export const UsageValue = Schema.Struct({
  type: Schema.Literals(valueTypes).annotate(component("UsageValueType", "number")),
  value: Amount,
  event_count: Schema.Int.annotate({ description: "The number of reports in the value" }),
}).annotate(component("UsageValue", { value: 2_500, event_count: 17 }))

export type UsageValue = typeof UsageValue.Type

/** What an instance may use of an entitlement in a period, and what it has used. */
export const UsageEntry = Schema.Struct({
  currentPeriodStart: Timestamp,
  currentPeriodEnd: Schema.NullOr(Timestamp).annotate({
    description: "`null` if usage never resets",
  }),
  entitlementId: Schema.String.annotate({ format: "uuid" }),
  entitlementName: Schema.String,
  entitlementSlug: Schema.String,
  entitlementType: EntitlementType,
  licenseValue: UsageValue,
  usageValue: UsageValue,
}).annotate(
  component("Usage", {
    entitlementName: "API calls",
    entitlementSlug: "api-calls",
    licenseValue: { type: "number", value: 10_000, event_count: 0 },
    currentPeriodStart: "2026-01-01T00:00:00.000Z",
    currentPeriodEnd: "2026-02-01T00:00:00.000Z",
  }),
)

export type UsageEntry = typeof UsageEntry.Type

/** An entitlement of an instance, with everything that counting its usage needs. */
export interface Meter extends CheckedInstance, ShownTerms {
  readonly organizationId: OrganizationId
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
  /** What was granted when the meter was read. */
  readonly grant: Grant | null
  /** Whether the instance has, or had, credits of the entitlement. */
  readonly hasCredits?: boolean
  /** Read only for an explanation. */
  readonly configuration?: Readonly<Record<string, unknown>> | null
}
