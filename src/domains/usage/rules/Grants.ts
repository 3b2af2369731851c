/**
 * What an instance is granted of an entitlement: by its license, and by an override. Every answer and every count gets its grant
 * here; nothing else reads what the license grants. Pure.
 */
import { BigDecimal, Option } from "effect"
import { decimalOfText, zero } from "../../../kernel/values/Decimal.ts"
import type { AppliedOverride } from "../../instances/overrides/Model.ts"
import { isUnlimited } from "./Decision.ts"
import type { Grant } from "./Decision.ts"

/** What a license version grants, as it is read. */
export interface LicensedTerms {
  /** A decimal, `true`, `false`, or `{}` for a configuration; `null` if the license grants nothing. */
  readonly granted: string | null
  readonly overagePercent: number | null
}

/** The terms of an instance and an entitlement, as they are read. */
export interface GrantedTerms extends LicensedTerms {
  /** The current override, whether it is in force or not. */
  readonly override: AppliedOverride | null
}

const valueOfText = (text: string): Option.Option<Grant["value"]> => {
  if (text === "true" || text === "false") return Option.some(text === "true")
  return text === "{}" ? Option.some({}) : decimalOfText(text)
}

/** What the license grants. A value that no license can contain grants nothing, because the default is to deny. */
export const licensedGrant = ({ granted, overagePercent }: LicensedTerms): Grant | null =>
  granted === null
    ? null
    : Option.match(valueOfText(granted), {
        onNone: () => null,
        onSome: (value) => ({ value, overagePercent: overagePercent ?? 0 }),
      })

/** Whether an override is in force at an instant: in `[startsAt, endsAt)`. */
export const isInForce = ({ endsAt, startsAt }: AppliedOverride, at: Date): boolean =>
  Date.parse(startsAt) <= at.getTime() && (endsAt === null || at.getTime() < Date.parse(endsAt))

const overriddenValue = (licensed: Grant | null, { mode, value }: AppliedOverride): Grant["value"] | undefined => {
  if (typeof value !== "string") return value
  const amount = Option.getOrUndefined(decimalOfText(value))
  if (mode === "SET" || amount === undefined) return amount
  const base = licensed !== null && BigDecimal.isBigDecimal(licensed.value) ? licensed.value : zero
  return isUnlimited(base) ? base : BigDecimal.sum(base, amount)
}

/** What is granted at an instant: what the license grants, changed by an override that is in force. */
export const grantAt = (
  licensed: Grant | null,
  override: AppliedOverride | null | undefined,
  at: Date,
): Grant | null => {
  if (override === null || override === undefined || !isInForce(override, at)) return licensed
  const value = overriddenValue(licensed, override)
  if (value === undefined) return licensed
  return { value, overagePercent: override.overagePercent ?? licensed?.overagePercent ?? 0, override }
}

/** What the terms grant at an instant. */
export const grantOf = (terms: GrantedTerms, at: Date): Grant | null =>
  grantAt(licensedGrant(terms), terms.override, at)

/** The granted object of a `CONFIG`. That of the license is read only where it is shown. */
export const configurationOf = (
  grant: Grant | null,
  licensed: Readonly<Record<string, unknown>> | null | undefined,
): Readonly<Record<string, unknown>> | null => {
  if (grant?.override === undefined) return licensed ?? null
  return typeof grant.value === "object" && !BigDecimal.isBigDecimal(grant.value) ? grant.value : null
}
