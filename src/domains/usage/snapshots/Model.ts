/** What an instance is granted over a future period, for products without a network: offline bundles. */
import type { AggregationMethod } from "../../entitlements/Model.ts"

/** A `NUMBER` in a snapshot. Amounts are decimal texts, so that no reader rounds them. */
export interface NumberSnapshot {
  readonly slug: string
  readonly type: "NUMBER"
  /** `-1`: unlimited. */
  readonly limit: string
  readonly overagePercent: string
  readonly aggregation: AggregationMethod
  /** What is used and reserved of the period that begins at `usedFrom`. */
  readonly used: string
  /** ISO 8601. */
  readonly usedFrom: string
  /** The name of its periods. */
  readonly period: string
  /** How much of each period is reserved for the site; absent if nothing is. */
  readonly allowance?: string
}

export type EntitlementSnapshot =
  | NumberSnapshot
  | { readonly slug: string; readonly type: "BOOLEAN"; readonly value: boolean }
  | { readonly slug: string; readonly type: "CONFIG"; readonly value: Readonly<Record<string, unknown>> }

/** The periods of one name: a first start and a length in seconds, or all starts (ISO 8601). */
export type PeriodStarts =
  | { readonly from: string; readonly every: number }
  | { readonly starts: ReadonlyArray<string> }

/** The time that a snapshot is for: from `from` on, before `until`. */
export interface Life {
  readonly from: Date
  readonly until: Date
}

/** The grants and periods of a future period of time. */
export interface Grants {
  readonly entitlements: ReadonlyArray<EntitlementSnapshot>
  readonly periods: Readonly<Record<string, PeriodStarts>>
}

/** The terms of an instance at an instant. */
export interface TermsSnapshot {
  readonly startLicenseDate: Date
  /** When access ends, after the grace period; `null` if it never does. */
  readonly accessEnd: Date | null
  /** What is granted during all of this time. */
  readonly grantsOver: (life: Life) => Grants
}
