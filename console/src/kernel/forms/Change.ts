/**
 * What a person changed in a form. Only that is sent: what the form also shows, or cannot show in full, stays as it is stored,
 * even if someone else changed it since the form was opened.
 */

type Json = Readonly<Record<string, unknown>>

/** Whether a part of a value is an object with properties, and not a list or the digits of an exact number. */
const isObject = (part: unknown): part is object =>
  typeof part === "object" && part !== null && !Array.isArray(part) && !Object.hasOwn(part, "rawJSON")

/** The JSON of a value with the properties of objects in order, for comparisons. */
const textOf = (value: unknown): string | undefined =>
  JSON.stringify(value, (_name, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  )

/** Whether a request has the same JSON for both. */
export const isSame = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other)

const own = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

/** The names of the properties that differ. */
export const namesOfChanges = (before: object, after: object): ReadonlyArray<string> =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isSame(own(before, name), own(after, name)),
  )

/** Some properties of an object. */
export const pick = (from: object, names: ReadonlyArray<string>): Json =>
  Object.fromEntries(names.map((name) => [name, own(from, name)]))

/** An object with the properties that a person changed: added, replaced or removed. All others are as they are stored. */
export const patched = (stored: object, before: object, after: object): Json => {
  const names = namesOfChanges(before, after)
  const kept = Object.entries(stored).filter(([name]) => !names.includes(name))
  const typed = names.filter((name) => Object.hasOwn(after, name)).map((name) => [name, own(after, name)] as const)
  return Object.fromEntries([...kept, ...typed])
}

/** The fields of a form after the record was read again: typed ones stay, all others show what is stored now. */
export const rebased = <V extends object>(initial: V, typed: V, stored: V): V =>
  Object.fromEntries(
    Object.entries(stored).map(([name, value]) => {
      const [before, after] = [own(initial, name), own(typed, name)]
      return [name, before === after || isSame(before, after) ? value : after]
    }),
  ) as V
