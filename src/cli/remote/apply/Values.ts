/** Compares values of the file with those of the service. Pure. */
import { Predicate } from "effect"
import { isAmount } from "../../../kernel/values/Decimal.ts"
import type { Change, Properties } from "./Plan.ts"

/** A value with sorted properties, so that equal values have equal texts. */
const ordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordered)
  if (!Predicate.isObject(value) || isAmount(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, property]) => property !== undefined)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, property]) => [name, ordered(property)]),
  )
}

/** Whether two JSON values are equal. The order of properties does not matter, that of items does. */
export const isSame = (left: unknown, right: unknown): boolean =>
  JSON.stringify(ordered(left)) === JSON.stringify(ordered(right))

export const isProperties = (value: unknown): value is Properties => Predicate.isObject(value) && !isAmount(value)

/** The properties of these names. */
export const pick = (record: object, names: ReadonlyArray<string>): Properties =>
  Object.fromEntries(names.map((name) => [name, Reflect.get(record, name) ?? null]))

/** The properties with defaults where there is none or `null`. */
export const withDefaults = (record: object, defaults: object): Properties =>
  Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, Reflect.get(record, name) ?? value]))

/** The properties that differ. */
export const changesBetween = (before: object, after: object): ReadonlyArray<Change> =>
  Object.entries(after).flatMap(([property, value]) =>
    isSame(Reflect.get(before, property), value)
      ? []
      : [{ property, before: Reflect.get(before, property), after: value }],
  )

/** The properties of a new record that say more than its defaults. */
export const additions = (after: object, defaults: object = {}): ReadonlyArray<Change> =>
  changesBetween(defaults, after).map(({ after: value, property }) => ({ property, before: undefined, after: value }))

/** The properties that differ, with their new values. */
export const bodyOf = (changes: ReadonlyArray<Change>): Properties =>
  Object.fromEntries(changes.map(({ after, property }) => [property, after]))
