/** The terms of a check: an instance, its license and what the license grants. Types and parsers. Pure. */
import { BigDecimal, Option } from "effect"
import { decimalOfText, storedDecimal, zero } from "../../../kernel/values/Decimal.ts"
import type { EntitlementType, ResetAnchor, ResetPeriod } from "../../entitlements/Model.ts"
import type { LifecycleState } from "../../licenses/Model.ts"
import type { Grant } from "./Decision.ts"
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
  /** For how many days after the end of the license access goes on. */
  readonly graceDays: number
  /** Read only for an explanation. */
  readonly facts?: LicenseFacts
}

/** An entitlement of a check, its grant, and a usage total that may belong to the current period. */
export interface CheckedEntitlement {
  readonly entitlement: string
  readonly type: EntitlementType
  readonly resetPeriod: ResetPeriod | null
  readonly resetAnchor: ResetAnchor | null
  /** A decimal, `true`, `false`, or `{}` for a configuration; `null` if the license grants nothing. */
  readonly granted: string | null
  readonly overagePercent: number | null
  readonly periodStart: Date | null
  /** A decimal. */
  readonly used: string | null
  /** A decimal: what reservations hold. */
  readonly held: string | null
  /** The granted object of a `CONFIG`. Read only where the response contains it. */
  readonly configuration?: Readonly<Record<string, unknown>> | null
}

/** A row without an entitlement is an instance of which only unknown entitlements were requested. */
export type CheckRow = CheckedInstance & (CheckedEntitlement | { readonly entitlement: null })

const grantValue = (text: string): Option.Option<Grant["value"]> => {
  if (text === "true" || text === "false") return Option.some(text === "true")
  return text === "{}" ? Option.some({}) : decimalOfText(text)
}

/** Parses a grant. A value that no license can contain grants nothing, because the default is to deny. */
export const grantOf = ({
  granted,
  overagePercent,
}: Pick<CheckedEntitlement, "granted" | "overagePercent">): Grant | null =>
  granted === null
    ? null
    : Option.match(grantValue(granted), {
        onNone: () => null,
        onSome: (value) => ({ value, overagePercent: overagePercent ?? 0 }),
      })

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

/** A stored decimal; zero if there is none. */
export const decimalOrZero = (text: string | null | undefined): BigDecimal.BigDecimal =>
  text === null || text === undefined ? zero : storedDecimal(text)
