/**
 * The effective grant: what an instance is granted of an entitlement at an instant, by its license, its add-ons and an override, in
 * this order. Every answer and every count gets its grant here; nothing else reads what licenses grant. Pure.
 */
import { BigDecimal, Option, Schema, Struct } from "effect"
import { decimalOfText, unlimited, zero } from "../../../kernel/values/Decimal.ts"
import { GrantingAddOn } from "../../instances/addons/Model.ts"
import { AppliedOverride } from "../../instances/overrides/Model.ts"
import { isUnlimited } from "./Cap.ts"
import type { Grant } from "./Decision.ts"

/** What a license version grants, as it is read. */
export const LicensedTerms = Schema.Struct({
  /** A decimal, `true`, `false`, or `{}` for a configuration; `null` if the license grants nothing. */
  granted: Schema.NullOr(Schema.String),
  overagePercent: Schema.NullOr(Schema.Finite),
})
type LicensedTerms = typeof LicensedTerms.Type

/** What a version of an add-on grants, as it is read. */
export const AddedTerms = GrantingAddOn.mapFields(Struct.pick(["combine", "value", "overagePercent"]))

/** What may change the grant of a license, as it is read. */
const GrantChanges = Schema.Struct({
  /** The add-ons that grant the entitlement, whether they are in force or not; `null` if the instance has none. */
  addOns: Schema.NullOr(Schema.Array(GrantingAddOn)),
  /** The current override, whether it is in force or not. */
  override: Schema.NullOr(AppliedOverride),
})
type GrantChanges = typeof GrantChanges.Type

/** The terms of an instance and an entitlement, as they are read. */
export const GrantedTerms = Schema.Struct({ ...LicensedTerms.fields, ...GrantChanges.fields })
export type GrantedTerms = typeof GrantedTerms.Type

/** The terms where they may be shown. Only an explanation needs them beside the grant. */
export type ShownTerms = Partial<GrantedTerms>

type Value = Grant["value"]

const valueOfText = (text: string): Option.Option<Value> => {
  if (text === "true" || text === "false") return Option.some(text === "true")
  return text === "{}" ? Option.some({}) : decimalOfText(text)
}

/** The value of an add-on or an override; `undefined` for a text that is no number. */
const appliedValue = (value: GrantingAddOn["value"]): Value | undefined =>
  typeof value === "string" ? Option.getOrUndefined(decimalOfText(value)) : value

/** What the license grants. A value that no license can contain grants nothing, because the default is to deny. */
export const licensedGrant = ({ granted, overagePercent }: LicensedTerms): Grant | null =>
  granted === null
    ? null
    : Option.match(valueOfText(granted), {
        onNone: () => null,
        onSome: (value) => ({ value, overagePercent: overagePercent ?? 0 }),
      })

type Window = Pick<AppliedOverride, "startsAt" | "endsAt">

/** Whether an add-on or an override is in force at an instant: in `[startsAt, endsAt)`. */
export const isInForce = ({ endsAt, startsAt }: Window, at: Date): boolean =>
  Date.parse(startsAt) <= at.getTime() && (endsAt === null || at.getTime() < Date.parse(endsAt))

/** An add-on that is in force, with its value. */
interface ValuedAddOn {
  readonly addOn: GrantingAddOn
  readonly value: Value
}

const ORDER: Readonly<Record<GrantingAddOn["combine"], number>> = { SET: 0, MAX: 1, ADD: 2 }

const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** In the order in which they apply; of one mode, the one that started last is last, then the one that was created last. */
const compareAddOns = ({ addOn: one }: ValuedAddOn, { addOn: other }: ValuedAddOn): number =>
  ORDER[one.combine] - ORDER[other.combine] ||
  Date.parse(one.startsAt) - Date.parse(other.startsAt) ||
  Date.parse(one.at) - Date.parse(other.at) ||
  compareTexts(one.id, other.id)

const addOnsInForce = (addOns: GrantChanges["addOns"], at: Date): ReadonlyArray<ValuedAddOn> =>
  (addOns ?? [])
    .flatMap((addOn) => {
      const value = isInForce(addOn, at) ? appliedValue(addOn.value) : undefined
      return value === undefined ? [] : [{ addOn, value }]
    })
    .sort(compareAddOns)

/** The greater of two values. Unlimited is greater than every number; of two configurations the later one counts. */
const greatest = (one: Value | undefined, other: Value): Value => {
  if (typeof one === "boolean" && typeof other === "boolean") return one || other
  if (!BigDecimal.isBigDecimal(one) || !BigDecimal.isBigDecimal(other)) return other
  return isUnlimited(one) || isUnlimited(other) ? unlimited : BigDecimal.max(one, other)
}

const sum = (one: BigDecimal.BigDecimal, other: BigDecimal.BigDecimal): BigDecimal.BigDecimal =>
  isUnlimited(one) || isUnlimited(other) ? unlimited : BigDecimal.sum(one, other)

/** A value and a number that is added. What is no number counts as 0. */
const added = (base: Value | undefined, amount: BigDecimal.BigDecimal): BigDecimal.BigDecimal =>
  sum(BigDecimal.isBigDecimal(base) ? base : zero, amount)

const times = (value: BigDecimal.BigDecimal, quantity: number): BigDecimal.BigDecimal =>
  isUnlimited(value) ? value : BigDecimal.multiply(value, BigDecimal.fromBigInt(BigInt(quantity)))

/** What is granted with add-ons that apply in this order. */
const combined = (licensed: Value | undefined, addOns: ReadonlyArray<ValuedAddOn>): Value | undefined => {
  const sets = addOns.filter(({ addOn }) => addOn.combine === "SET")
  // The greatest of those that set replaces the license, also a greater one.
  let value =
    sets.length === 0 ? licensed : sets.reduce<Value | undefined>((all, one) => greatest(all, one.value), undefined)
  for (const { addOn, value: own } of addOns) {
    if (addOn.combine === "MAX") value = greatest(value, own)
    if (addOn.combine === "ADD" && BigDecimal.isBigDecimal(own)) value = added(value, times(own, addOn.quantity))
  }
  return value
}

/** The greatest overage that a source states. That of the license counts unless an add-on that sets the value states one. */
const overageOf = (licensed: Grant | null, addOns: ReadonlyArray<ValuedAddOn>): number => {
  const stated = addOns.flatMap(({ addOn: { combine, overagePercent } }) =>
    overagePercent === null ? [] : [{ combine, overagePercent }],
  )
  const own = stated.some(({ combine }) => combine === "SET") ? 0 : (licensed?.overagePercent ?? 0)
  return Math.max(own, ...stated.map(({ overagePercent }) => overagePercent))
}

const isSameValue = (one: Value | undefined, other: Value): boolean =>
  BigDecimal.isBigDecimal(one) && BigDecimal.isBigDecimal(other) ? BigDecimal.equals(one, other) : one === other

/** Whether add-ons make the grant: they set or add, or what they state is more than the license grants. */
const count = (licensed: Grant | null, grant: Grant, addOns: ReadonlyArray<ValuedAddOn>): boolean =>
  addOns.some(({ addOn }) => addOn.combine !== "MAX") ||
  !isSameValue(licensed?.value, grant.value) ||
  licensed?.overagePercent !== grant.overagePercent

const withAddOns = (licensed: Grant | null, addOns: GrantChanges["addOns"], at: Date): Grant | null => {
  const inForce = addOnsInForce(addOns, at)
  if (inForce.length === 0) return licensed
  const value = combined(licensed?.value, inForce)
  if (value === undefined) return licensed
  const grant = { value, overagePercent: overageOf(licensed, inForce) }
  return count(licensed, grant, inForce) ? { ...grant, byAddOn: true } : (licensed ?? grant)
}

const overriddenValue = (granted: Grant | null, { mode, value }: AppliedOverride): Value | undefined => {
  const own = appliedValue(value)
  return mode === "ADD" && BigDecimal.isBigDecimal(own) ? added(granted?.value, own) : own
}

/** What is granted at an instant: what the license grants, with the add-ons and the override that are in force. */
export const grantAt = (
  licensed: Grant | null,
  { addOns, override }: { readonly [Name in keyof GrantChanges]: GrantChanges[Name] | undefined },
  at: Date,
): Grant | null => {
  const granted = addOns === null || addOns === undefined ? licensed : withAddOns(licensed, addOns, at)
  if (override === null || override === undefined || !isInForce(override, at)) return granted
  const value = overriddenValue(granted, override)
  if (value === undefined) return granted
  return { value, overagePercent: override.overagePercent ?? granted?.overagePercent ?? 0, override }
}

/** What the terms grant at an instant. */
export const grantOf = (terms: GrantedTerms, at: Date): Grant | null => grantAt(licensedGrant(terms), terms, at)

/** A grant, and the instant from which on it applies; the first one of a life has none. */
export interface DatedGrant {
  readonly from: Date | null
  readonly grant: Grant | null
}

/** The grants of a life: the one at its beginning, and those at the instants within it at which one may change. */
export const grantsDuring = (
  terms: GrantedTerms,
  { from, until }: { readonly from: Date; readonly until: Date },
): ReadonlyArray<DatedGrant> => {
  const windows: ReadonlyArray<Window> = [...(terms.addOns ?? []), ...(terms.override === null ? [] : [terms.override])]
  const changes = new Set(
    windows.flatMap(({ endsAt, startsAt }) =>
      [startsAt, endsAt].flatMap((text) => (text === null ? [] : [Date.parse(text)])),
    ),
  )
  return [
    { from: null, grant: grantOf(terms, from) },
    ...[...changes]
      .filter((at) => at > from.getTime() && at < until.getTime())
      .toSorted((one, other) => one - other)
      .map((at) => ({ from: new Date(at), grant: grantOf(terms, new Date(at)) })),
  ]
}

/** Something that grants, beside others. */
export type GrantSource =
  | { readonly source: "LICENSE"; readonly value: Value }
  | { readonly source: "ADD_ON"; readonly value: Value; readonly addOn: GrantingAddOn }
  | { readonly source: "OVERRIDE"; readonly value: Value; readonly override: AppliedOverride }

/** All sources that are in force at an instant, in the order in which they apply, also those that a later one replaces. */
export const sourcesAt = (
  { addOns = null, granted = null, overagePercent = null, override = null }: ShownTerms,
  at: Date,
): ReadonlyArray<GrantSource> => {
  const licensed = licensedGrant({ granted, overagePercent })
  const overridden = override !== null && isInForce(override, at) ? appliedValue(override.value) : undefined
  return [
    ...(licensed === null ? [] : [{ source: "LICENSE", value: licensed.value } as const]),
    ...addOnsInForce(addOns, at).map((one) => ({ source: "ADD_ON", ...one }) as const),
    ...(override === null || overridden === undefined
      ? []
      : [{ source: "OVERRIDE", value: overridden, override } as const]),
  ]
}

/** The granted object of a `CONFIG`. That of the license is read only where it is shown. */
export const configurationOf = (
  grant: Grant | null,
  licensed: Readonly<Record<string, unknown>> | null | undefined,
): Readonly<Record<string, unknown>> | null => {
  if (grant?.override === undefined && grant?.byAddOn === undefined) return licensed ?? null
  return typeof grant.value === "object" && !BigDecimal.isBigDecimal(grant.value) ? grant.value : null
}
