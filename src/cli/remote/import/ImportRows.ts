/** Reads the rows of an import from CSV or NDJSON, as they come. */
import { Predicate, Stream } from "effect"
import { pipeline, Readable } from "node:stream"
import { parseJson } from "../../../kernel/values/Decimal.ts"
import { reason } from "../../../infra/embedded/Errors.ts"
import type { CommandFailed } from "../../Failure.ts"
import { cannotRead, inputOf, linesOf, textOf } from "../../input/Input.ts"
import type { Input } from "../../input/Input.ts"

export const formats = ["csv", "ndjson"] as const
export type Format = (typeof formats)[number]

/** A row, and its number in the file: 1 is the first row after the header. */
export interface Row {
  readonly number: number
  readonly properties: Readonly<Record<string, unknown>>
}

/** The format of a file by its name; CSV unless it is NDJSON. */
export const formatOf = (file: string): Format => (/\.(ndjson|jsonl)$/i.test(file) ? "ndjson" : "csv")

/** The columns whose cells are JSON: a number, true, false, or an object. */
const JSON_COLUMNS: ReadonlyArray<string> = ["value", "overagePercent", "graceDays"]

const cellOf = (column: string, cell: string): unknown => {
  if (cell === "null" && column !== "name") return null
  if (!JSON_COLUMNS.includes(column)) return cell
  try {
    return parseJson(cell)
  } catch {
    return cell
  }
}

/**
 * The properties of a CSV record. An empty cell is no property, `null` is none set. A column such as `metadata.region` is a property
 * of an object.
 */
export const propertiesOf = (record: Readonly<Record<string, string>>): Record<string, unknown> => {
  const properties: Record<string, unknown> = {}
  for (const [column, cell] of Object.entries(record)) {
    if (cell === "") continue
    const dot = column.indexOf(".")
    if (dot === -1) {
      properties[column] = cellOf(column, cell)
      continue
    }
    const [parent, name] = [column.slice(0, dot), column.slice(dot + 1)]
    const object = properties[parent]
    properties[parent] = { ...(Predicate.isObject(object) ? object : {}), [name]: cellOf(name, cell) }
  }
  return properties
}

async function* csvRows(input: Input): AsyncGenerator<Row, undefined> {
  // Only imports load the parser.
  const { parse } = await import("csv-parse")
  const parser = parse({ columns: true, skip_empty_lines: true, trim: true })
  // The pipeline fails the parser if the input cannot be read.
  const records: AsyncIterable<Readonly<Record<string, string>>> = pipeline(
    Readable.from(textOf(input)),
    parser,
    () => undefined,
  )
  let number = 0
  for await (const record of records) yield { number: ++number, properties: propertiesOf(record) }
}

async function* ndjsonRows(input: Input): AsyncGenerator<Row, undefined> {
  let number = 0
  for await (const line of linesOf(input)) {
    if (line.trim() === "") continue
    number++
    let properties: unknown
    try {
      properties = parseJson(line)
    } catch (error) {
      throw new Error(`row ${number} is not JSON: ${reason(error)}`, { cause: error })
    }
    if (!Predicate.isObject(properties)) throw new Error(`row ${number} is not a JSON object`)
    yield { number, properties }
  }
}

/** The rows of a file, or of standard input (`-`). */
export const readRows = (file: string, format: Format): Stream.Stream<Row, CommandFailed> =>
  Stream.suspend(() => {
    const input = inputOf(file)
    return Stream.fromAsyncIterable(
      format === "csv" ? csvRows(input) : ndjsonRows(input),
      cannotRead("The rows", input),
    )
  })
