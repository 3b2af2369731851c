/** The explanation of a check: what its answer rests on, for the people who are asked about it. */
import { Schema } from "effect"
import { resetAnchors, resetPeriods } from "../entitlements/Model.ts"
import { Amount } from "../kernel/ExactNumber.ts"
import { LifecycleState } from "../licenses/Model.ts"
import { Timestamp } from "../kernel/Timestamp.ts"

/** `HARD`: nothing over the limit. `SOFT`: overage up to a cap. `UNLIMITED`: no limit. */
export const overageKinds = ["HARD", "SOFT", "UNLIMITED"] as const

/** Everything that one answer of a check was decided on. */
export const Explanation = Schema.Struct({
  license: Schema.Struct({
    slug: Schema.String,
    version: Schema.String.annotate({ description: "The number of the version in its family" }),
    family: Schema.String.annotate({ description: "Slug of the family" }),
    lifecycleState: LifecycleState,
    startLicenseDate: Timestamp,
    endLicenseDate: Schema.NullOr(Timestamp),
  }).annotate({ description: "The license version that the instance has, and from when to when" }),
  grant: Schema.NullOr(
    Schema.Struct({
      value: Schema.Union([Amount, Schema.Boolean, Schema.Record(Schema.String, Schema.Unknown)]),
      overagePercent: Schema.Finite,
    }),
  ).annotate({ description: "What the license version grants; `null` if nothing" }),
  window: Schema.NullOr(
    Schema.Struct({
      start: Timestamp,
      end: Schema.NullOr(Timestamp).annotate({ description: "Not in the window; `null` if usage never starts again" }),
      resetPeriod: Schema.NullOr(Schema.Literals(resetPeriods)),
      resetAnchor: Schema.NullOr(Schema.Literals(resetAnchors)),
    }),
  ).annotate({ description: "Where usage is counted; `null` unless the entitlement is a `NUMBER`" }),
  overageRule: Schema.NullOr(
    Schema.Struct({
      kind: Schema.Literals(overageKinds),
      limit: Amount.annotate({ description: "Above it is overage; -1 when unlimited" }),
      cap: Amount.annotate({ description: "Above it everything is refused; -1 when unlimited" }),
    }),
  ).annotate({ description: "`null` unless a `NUMBER` is granted" }),
  held: Schema.NullOr(Amount).annotate({
    description: "What reservations keep from the window, at the same moment as the figures; `null` unless a `NUMBER`",
  }),
  text: Schema.String.annotate({ description: "The same for a person, in a few sentences" }),
})
export type Explanation = typeof Explanation.Type

/** What an explanation says of a license version besides what every check reads. */
export interface LicenseFacts {
  readonly version: string
  readonly family: string
  readonly lifecycleState: typeof LifecycleState.Type
}
