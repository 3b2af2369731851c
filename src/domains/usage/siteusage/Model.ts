/** Usage that happened without a connection, and the allowances that cover it. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"

/** By how much the usage that ledgers brought is above the allowance of a period. */
export const OverAllowance = Schema.Struct({
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  periodStart: Timestamp,
  quantity: Amount.annotate({ description: "What is above the greatest allowance of the period" }),
}).annotate(
  component("OverAllowance", { entitlement: "exports", periodStart: "2026-01-12T00:00:00.000Z", quantity: 5 }),
)
export type OverAllowance = typeof OverAllowance.Type

/** The time in which usage counts: from `from` on, before `until`. */
export interface UsageWindow {
  readonly from: Date
  readonly until: Date
  /** What it is, for the text of a rejection: by default the life of a bundle. */
  readonly name?: string
}

/** A use that a site wrote down: a CloudEvent that is an object, and the time in which it counts. */
export interface OfflineUse {
  readonly event: object
  readonly window: UsageWindow
}

/** The instance whose usage it is. Its row is locked against deletion. */
export interface MeteredInstance {
  readonly id: string
  readonly slug: string
}
