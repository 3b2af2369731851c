/** Rules of allowances: what can be reserved for a site, and whether it fits. Pure. */
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import {
  decimalOfAmount,
  decimalText,
  isStorable,
  isWhole,
  storedDecimal,
  zero,
} from "../../../kernel/values/Decimal.ts"
import { meterErrorOf, methodOf } from "../ledger/Account.ts"
import type { Account } from "../ledger/Account.ts"
import { limitText } from "../ledger/Acceptance.ts"
import type { Meter } from "../ledger/Model.ts"
import { decideReservation, findFullAccount, periodsTouched } from "../reservations/Rules.ts"
import { refusalText } from "../rules/Refusals.ts"
import type { EntitlementSnapshot, Life } from "../snapshots/Model.ts"
import type { RequestedAllowance } from "./Model.ts"

/** Validation errors of the request itself: an entitlement has one allowance, and a quantity 18 digits. */
export const requestErrors = (requested: ReadonlyArray<RequestedAllowance>): ReadonlyArray<ValidationError> =>
  requested.flatMap(({ entitlement, quantity }, index) => [
    ...(requested.findIndex((other) => other.entitlement === entitlement) < index
      ? [
          {
            location: `body.allowances[${index}].entitlement`,
            message: "must be another entitlement than those before",
            value: entitlement,
          },
        ]
      : []),
    ...(isStorable(decimalOfAmount(quantity))
      ? []
      : [{ location: `body.allowances[${index}].quantity`, message: "must have at most 18 digits", value: quantity }]),
  ])

/** Validation errors of allowances of these meters; `undefined` is an entitlement that the organization does not have. */
export const meterErrors = (
  requested: ReadonlyArray<RequestedAllowance>,
  meterOf: (entitlement: string) => Meter | undefined,
): ReadonlyArray<ValidationError> =>
  requested.flatMap(({ entitlement, quantity }, index): ReadonlyArray<ValidationError> => {
    const at = { location: `body.allowances[${index}].entitlement`, value: entitlement }
    const meter = meterOf(entitlement)
    const error = meterErrorOf(meter)
    if (meter === undefined || error !== undefined) return [{ ...at, message: error ?? "" }]
    return methodOf(meter) === "COUNT" && !isWhole(decimalOfAmount(quantity))
      ? [
          {
            location: `body.allowances[${index}].quantity`,
            message: "must be whole, because a COUNT counts single events",
            value: quantity,
          },
        ]
      : []
  })

/**
 * The meter with what a bundle promises of it: the lowest grant of the bundle's life; no grant if an instant of it has none.
 */
export const withPromisedGrant = (meter: Meter, entitlements: ReadonlyArray<EntitlementSnapshot>): Meter => {
  const promised = entitlements.find(({ slug }) => slug === meter.entitlement)
  return {
    ...meter,
    grant:
      promised?.type === "NUMBER"
        ? { value: storedDecimal(promised.limit), overagePercent: Number(promised.overagePercent) }
        : null,
  }
}

/**
 * The instants whose periods an allowance must fit into: the first of the bundle's life, and the beginning of the next period, if
 * the life reaches it. Periods after that have neither usage nor reservations yet.
 */
export const instantsToFit = (meter: Meter, { from, until }: Life): ReadonlyArray<Date> => [
  from,
  ...periodsTouched(meter, from, until)
    .slice(1, 2)
    .map(({ start }) => start),
]

/** Why an allowance does not fit into these accounts, which hold it already; `undefined` if it does. */
export const rejectionOf = (meter: Meter, at: Date, accounts: ReadonlyArray<Account>): string | undefined => {
  const full = findFullAccount(meter, zero, at, accounts)
  if (full === undefined) return undefined
  const refused = refusalText(meter, decideReservation(meter, zero, at).reason)
  return (
    refused ??
    `The limit of "${meter.entitlement}" of "${meter.instance}" is ${limitText(meter)}; in the period from ${full.period.start.toISOString()}, ${decimalText(full.total.value)} would be used, and ${decimalText(full.held)} held by reservations and allowances. Ask for a lower quantity.`
  )
}
