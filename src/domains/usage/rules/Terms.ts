/** The terms of a check: an instance, its license and what the license grants. Types and parsers. Pure. */
import type { EntitlementType, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import type { LifecycleState } from "../../licenses/Model.ts"
import type { GrantedTerms } from "./Grants.ts"
import type { HeldParts } from "./Held.ts"
import { periodAt } from "./Period.ts"
import type { Period } from "./Period.ts"

/** What only an explanation shows of a license version. */
export interface LicenseFacts {
  readonly version: string
  readonly family: string
  readonly lifecycleState: typeof LifecycleState.Type
}

/** The instance of a check and its license version. */
export interface CheckedInstance {
  readonly instance: string
  readonly license: string
  readonly startLicenseDate: Date
  readonly endLicenseDate: Date | null
  /** How many days after the end of the license access continues. */
  readonly graceDays: number
  /** Read only for an explanation. */
  readonly facts?: LicenseFacts
}

/** An entitlement of a check, what is granted of it, and a usage total that may belong to the current period. */
export interface CheckedEntitlement extends GrantedTerms, HeldParts {
  readonly entitlement: string
  readonly type: EntitlementType
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor | null
  readonly periodStart: Date | null
  /** A decimal. */
  readonly used: string | null
  /** The granted object of a `CONFIG`. Read only where the response contains it. */
  readonly configuration?: Readonly<Record<string, unknown>> | null
}

/** A row without an entitlement is an instance for which only unknown entitlements were requested. */
export type CheckRow = CheckedInstance & (CheckedEntitlement | { readonly entitlement: null })

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
