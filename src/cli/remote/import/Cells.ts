/** The values of cells, as spreadsheets and people write them. Pure. */
import { Option, Predicate } from "effect"
import { parseJson } from "../../../kernel/values/Decimal.ts"
import { instant } from "../Instants.ts"

/** The columns whose cells are JSON: a number, true, false, or an object. */
const JSON_COLUMNS: ReadonlyArray<string> = ["value", "overagePercent", "graceDays", "quantity"]

/** The columns of times, of all kinds of rows. */
const INSTANT_COLUMNS: ReadonlyArray<string> = [
  "startLicenseDate",
  "endLicenseDate",
  "endMaintenanceDate",
  "startsAt",
  "endsAt",
]

/** A time as the API accepts it: a date is midnight UTC. The service reports what is wrong with other texts. */
const instantOf = (text: string): string => (/^\d{4}-\d\d-\d\d$/.test(text) ? dateOf(text) : text)

const dateOf = (text: string): string => Option.getOrElse(instant(text, undefined), () => text)

/** What is wrong with the cell of a number; `undefined` if nothing is. `1,5` and, where commas are decimal, `1.500` are ambiguous. */
const problemOf = (column: string, cell: string, separator: string): string | undefined => {
  if (!JSON_COLUMNS.includes(column)) return undefined
  if (/^[+-]?\d[\d.']*,[\d.,]*$/.test(cell)) {
    return `${column}: ${cell} could have a decimal comma or separated thousands. Write 1.5 or 1500`
  }
  if (separator === ";" && /^[+-]?[1-9]\d{0,2}(\.\d{3})+$/.test(cell)) {
    return `${column}: ${cell} could have decimals or separated thousands. Write ${cell}0 or ${cell.replaceAll(".", "")}`
  }
  return undefined
}

const jsonOf = (cell: string): unknown => {
  // Spreadsheets write truth values in capitals.
  const text = /^(true|false)$/i.test(cell) ? cell.toLowerCase() : cell
  try {
    return parseJson(text)
  } catch {
    return cell
  }
}

const cellOf = (column: string, cell: string): unknown => {
  if (cell === "null" && column !== "name") return null
  if (JSON_COLUMNS.includes(column)) return jsonOf(cell)
  return INSTANT_COLUMNS.includes(column) ? instantOf(cell) : cell
}

/**
 * The properties of a CSV record. An empty cell omits the property, and `null` clears it. A column such as
 * `metadata.region` is a property of an object.
 */
export const propertiesOf = (record: Readonly<Record<string, string>>): Record<string, unknown> => {
  const properties = new Map<string, unknown>()
  for (const [column, cell] of Object.entries(record)) {
    if (cell === "") continue
    const dot = column.indexOf(".")
    if (dot === -1) {
      properties.set(column, cellOf(column, cell))
      continue
    }
    const [parent, name] = [column.slice(0, dot), column.slice(dot + 1)]
    const object = properties.get(parent)
    properties.set(parent, { ...(Predicate.isObject(object) ? object : {}), [name]: cellOf(name, cell) })
  }
  return Object.fromEntries(properties)
}

/** What is wrong with the cells of a CSV record, before it is sent. */
export const problemsOf = (record: Readonly<Record<string, string>>, separator: string): ReadonlyArray<string> =>
  Object.entries(record).flatMap(([column, cell]) => {
    if (column === "" && cell !== "") return [`the cell ${cell} has no column`]
    return problemOf(column, cell, separator) ?? []
  })

/** The properties of a JSON row, whose times may be dates as in CSV. */
export const withDates = (row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      Predicate.isString(value) && INSTANT_COLUMNS.includes(name) ? instantOf(value) : value,
    ]),
  )
