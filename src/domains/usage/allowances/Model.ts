/** Allowances: units per period that are reserved for a site without a network. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Amount } from "../../../kernel/values/Decimal.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"

/** How much of an entitlement to reserve for a site. */
export const RequestedAllowance = Schema.Struct({
  entitlement: PathName.annotate({
    description: "Slug of a `SUM` or `COUNT` entitlement that the instance is granted",
  }),
  quantity: Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
    description: "Units in each period, at most 18 digits; whole for a `COUNT`",
  }),
}).annotate(component("RequestedOfflineAllowance", { entitlement: "exports", quantity: 100 }))
export type RequestedAllowance = typeof RequestedAllowance.Type

/** What is reserved for a site. */
export const OfflineAllowance = Schema.Struct({
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  quantity: Amount.annotate({ description: "Units in each period that the life of the bundle touches" }),
  endedAt: Schema.NullOr(Timestamp).annotate({
    description: "When it was released, or the site's ledger closed; without that, it ends at `usageUntil`",
  }),
}).annotate(component("OfflineAllowance", { entitlement: "exports", quantity: 100, endedAt: null }))
export type OfflineAllowance = typeof OfflineAllowance.Type

/** How much a bundle allows a site per period, and when the bundle is valid. */
export const Allowance = Schema.Struct({
  /** Slug. */
  entitlement: Schema.String,
  /** A decimal. */
  quantity: Schema.String,
  validFrom: Schema.Date,
  validUntil: Schema.Date,
})
export type Allowance = typeof Allowance.Type
