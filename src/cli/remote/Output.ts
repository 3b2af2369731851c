/** Prints what the service returns, for people as text or for programs as JSON. */
import { Predicate, String as Str } from "effect"
import { table } from "../Table.ts"

const MAX_CELL_LENGTH = 60

// Names come from customers. A terminal would execute the control characters in them.
const printable = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  )

const REFERENCE = ["id", "name", "slug"]
const QUANTITY = ["type", "value", "event_count"]

const consistsOf = (value: object, names: ReadonlyArray<string>) =>
  Object.keys(value).every((name) => names.includes(name))

/** A value on one line. Actors and other references are shown by their name, quantities by their value. */
export const lineOf = (value: unknown): string => {
  if (value === null || value === undefined) return ""
  if (Predicate.isString(value)) return printable(value)
  if (Array.isArray(value) && value.every(Predicate.isString)) return printable(value.join(", "))
  if (Predicate.hasProperty(value, "name") && consistsOf(value, REFERENCE)) return lineOf(value.name)
  if (Predicate.hasProperty(value, "value") && consistsOf(value, QUANTITY)) return lineOf(value.value)
  return printable(JSON.stringify(value))
}

const cellOf = (value: unknown): string => {
  const line = lineOf(value)
  return Predicate.isObject(value) && line.length > MAX_CELL_LENGTH ? `${line.slice(0, MAX_CELL_LENGTH - 1)}…` : line
}

/** `licenseSlug` as a heading: `license slug`. */
const headingOf = Str.noCase()

/** The items of a page as a table. */
export const listText = (
  columns: ReadonlyArray<string>,
  items: ReadonlyArray<Readonly<Record<string, unknown>>>,
): string =>
  table(
    columns.map((column) => headingOf(column)),
    items.map((item) => columns.map((column) => cellOf(item[column]))),
  )

/** A record with one property per line. */
export const recordText = (value: unknown): string => {
  if (!Predicate.isObject(value)) return lineOf(value)
  const entries = Object.entries(value)
  const width = Math.max(0, ...entries.map(([name]) => name.length))
  return entries.map(([name, property]) => `${name.padEnd(width)}  ${lineOf(property)}`.trimEnd()).join("\n")
}

/** A text of several lines, such as a signed note, without its last line break. */
export const linesText = (text: string): string => text.replace(/\n$/, "").split("\n").map(printable).join("\n")

/** A value as JSON, for programs. */
export const json = (value: unknown): string => JSON.stringify(value, null, 2)
