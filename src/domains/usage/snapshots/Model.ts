/** What an instance is granted over a future period, for products that decide by themselves: offline bundles and snapshots. */
import type { AggregationMethod } from "../../entitlements/Model.ts"
import type { CheckReason } from "../rules/Decision.ts"

/** What is granted of a `NUMBER`. Amounts are decimal texts, so that no reader rounds them. */
interface NumberGrant {
  /** `-1`: unlimited. */
  readonly limit: string
  readonly overagePercent: string
}

/** A grant of a `NUMBER`, or none. */
export type NumberTerms = NumberGrant | { readonly limit: null }

/** A configuration; `null` if none is granted. */
export type ConfigTerms = { readonly value: Readonly<Record<string, unknown>> | null }

/** What is granted from an instant on (ISO 8601). */
type Dated<Terms> = { readonly from: string } & Terms

/** What is granted at the instants of a life, where it changes within. Absent where it does not. */
interface Changing<Terms> {
  readonly grants?: ReadonlyArray<Dated<Terms>>
}

interface NumberFacts extends Changing<NumberTerms> {
  readonly slug: string
  readonly type: "NUMBER"
  readonly aggregation: AggregationMethod
  /** What is used and reserved of the period that begins at `usedFrom`. For `CONCURRENT`, how many seats are taken. */
  readonly used: string
  /** The part of `used` that is reserved; absent if nothing is. */
  readonly held?: string
  /** ISO 8601. */
  readonly usedFrom: string
  /** The name of its periods. */
  readonly period: string
  /** How much of each period is reserved for the site; absent if nothing is. */
  readonly allowance?: string
}

/** A `NUMBER` that is granted. */
export type NumberSnapshot = NumberFacts & NumberGrant

interface BooleanSnapshot extends Changing<{ readonly value: boolean }> {
  readonly slug: string
  readonly type: "BOOLEAN"
  readonly value: boolean
}

interface ConfigFacts extends Changing<ConfigTerms> {
  readonly slug: string
  readonly type: "CONFIG"
}

/** An entitlement that is granted. Its own terms are the lowest of the life, whatever its `grants` say. */
export type EntitlementSnapshot =
  | NumberSnapshot
  | BooleanSnapshot
  | (ConfigFacts & { readonly value: Readonly<Record<string, unknown>> })

/** An entitlement, whether or not it is granted. */
export type EntitlementStanding = (NumberFacts & NumberTerms) | BooleanSnapshot | (ConfigFacts & ConfigTerms)

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

/** The standing of an instance with all entitlements over a future period of time. */
export interface Standings {
  readonly entitlements: ReadonlyArray<EntitlementStanding>
  readonly periods: Readonly<Record<string, PeriodStarts>>
  /** Whether these are all entitlements of the organization. */
  readonly complete: boolean
  /** The reason that a check of 1 has now, of each `NUMBER`. */
  readonly reasons: Readonly<Record<string, CheckReason>>
}

/** The terms of an instance at an instant. */
export interface TermsSnapshot {
  readonly startLicenseDate: Date
  /** When the term ends and grace begins; `null` if it never does. */
  readonly endLicenseDate: Date | null
  /** When access ends, after the grace period; `null` if it never does. */
  readonly accessEnd: Date | null
  /** What is granted during all of this time. */
  readonly grantsOver: (life: Life) => Grants
  /** The standing with each entitlement during all of this time, those that are not granted included. */
  readonly standingsOver: (life: Life) => Standings
}
