/** Meters, and usage as the API returns it (contract, section 5). */
import { Schema } from "effect"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"
import { entitlementTypes } from "../../entitlements/Model.ts"
import type { AggregationMethod, EntitlementType, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import type { CheckedInstance } from "../rules/Terms.ts"

const valueTypes = ["number", "unlimited", "boolean", "config"] as const

/** An amount, or the number that represents it: -1 for unlimited, 1 and 0 for granted and not granted. */
export const UsageValue = Schema.Struct({
  type: Schema.Literals(valueTypes),
  value: Amount,
  event_count: Schema.Int.annotate({ description: "The number of reports in the value" }),
})

export type UsageValue = typeof UsageValue.Type

/** What an instance may use of an entitlement in a period, and what it has used. */
export const UsageEntry = Schema.Struct({
  currentPeriodStart: Timestamp,
  currentPeriodEnd: Schema.NullOr(Timestamp).annotate({
    description: "`null` if usage never resets",
  }),
  entitlementId: Schema.String,
  entitlementName: Schema.String,
  entitlementSlug: Schema.String,
  entitlementType: Schema.Literals(entitlementTypes),
  licenseValue: UsageValue,
  usageValue: UsageValue,
})

export type UsageEntry = typeof UsageEntry.Type

/** An entitlement of an instance, with everything that counting its usage needs. */
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
  /** Read only for an explanation. */
  readonly configuration?: Readonly<Record<string, unknown>> | null
}
