/** The terms of a check: an instance, its license and what the license grants. Types and parsers. Pure. */
import { Schema } from "effect"
import { EntitlementType, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import { LifecycleState } from "../../licenses/Model.ts"
import { GrantedTerms } from "./Grant.ts"
import { HeldParts } from "./Held.ts"
import { StoredCredit } from "./StoredCredit.ts"
import { periodAt } from "./Period.ts"
import type { Period } from "./Period.ts"

/** What only an explanation shows of a license version. */
const LicenseFacts = Schema.Struct({
  version: Schema.String,
  family: Schema.String,
  lifecycleState: LifecycleState,
})
export type LicenseFacts = typeof LicenseFacts.Type

/** The instance of a check and its license version. */
export const CheckedInstance = Schema.Struct({
  instance: Schema.String,
  license: Schema.String,
  startLicenseDate: Schema.Date,
  endLicenseDate: Schema.NullOr(Schema.Date),
  /** How many days after the end of the license access continues. */
  graceDays: Schema.Int,
  /** Read only for an explanation. */
  facts: Schema.optionalKey(LicenseFacts),
})
export type CheckedInstance = typeof CheckedInstance.Type

/** An entitlement of a check, what is granted of it, and a usage total that may belong to the current period. */
export const CheckedEntitlement = Schema.Struct({
  ...GrantedTerms.fields,
  ...HeldParts.fields,
  entitlement: Schema.String,
  type: EntitlementType,
  resetPeriod: Schema.NullOr(ResetPeriod),
  resetAnchor: Schema.NullOr(ResetAnchor),
  periodStart: Schema.NullOr(Schema.Date),
  /** A decimal. */
  used: Schema.NullOr(Schema.String),
  /** A decimal: what credits have paid of it; `null` or absent: nothing. */
  burned: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** The active credits, in any order; `null` or absent without any. */
  credits: Schema.optionalKey(Schema.NullOr(Schema.Array(StoredCredit))),
  /** The granted object of a `CONFIG`. Read only where the response contains it. */
  configuration: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
})
export type CheckedEntitlement = typeof CheckedEntitlement.Type

/** The instance of a check for which only unknown entitlements were requested. */
export const WithoutEntitlement = Schema.Struct({ ...CheckedInstance.fields, entitlement: Schema.Null })

/** A row of a check, of one entitlement. */
export const EntitlementRow = Schema.Struct({ ...CheckedInstance.fields, ...CheckedEntitlement.fields })

/** A row of a check. */
export const CheckRow = Schema.Union([EntitlementRow, WithoutEntitlement])
export type CheckRow = typeof CheckRow.Type

type Resetting = Pick<CheckedEntitlement, "type" | "resetPeriod" | "resetAnchor">

/** The usage period of an instant; `null` where usage is not measured. */
export const periodOf = (
  row: Resetting,
  { startLicenseDate }: Pick<CheckedInstance, "startLicenseDate">,
  at: Date,
): Period | null =>
  row.type === "NUMBER"
    ? periodAt({
        resetPeriod: row.resetPeriod,
        resetAnchor: row.resetAnchor ?? "CALENDAR",
        licenseStart: startLicenseDate,
        at,
      })
    : null
