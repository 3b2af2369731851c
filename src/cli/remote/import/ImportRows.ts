/** Reads the rows of an import from CSV or NDJSON, as they come. */
import { Effect, Predicate, Stream } from "effect"
import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { parseJson } from "../../../kernel/values/Decimal.ts"
import { reason } from "../../../infra/embedded/Errors.ts"
import { CommandFailed } from "../../Failure.ts"

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

async function* csvRows(input: Readable): AsyncGenerator<Row> {
  // Only imports load the parser.
  const { parse } = await import("csv-parse")
  const records: AsyncIterable<Readonly<Record<string, string>>> = input.pipe(
    parse({ columns: true, bom: true, skip_empty_lines: true, trim: true }),
  )
  let number = 0
  for await (const record of records) yield { number: ++number, properties: propertiesOf(record) }
}

async function* ndjsonRows(input: Readable): AsyncGenerator<Row> {
  let number = 0
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
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
  Stream.unwrap(
    Effect.sync(() => {
      const input = file === "-" ? process.stdin : createReadStream(file)
      const rows = format === "csv" ? csvRows(input) : ndjsonRows(input)
      // A file that cannot be read fails its stream, which the parser does not see.
      const failed = new Promise<never>((_, reject) => input.once("error", reject))
      failed.catch(() => {})
      const merged: AsyncIterable<Row, undefined> = {
        [Symbol.asyncIterator]: () => ({
          next: () => Promise.race([rows.next() as Promise<IteratorResult<Row, undefined>>, failed]),
          return: async () => {
            input.destroy()
            return { done: true as const, value: undefined }
          },
        }),
      }
      return Stream.fromAsyncIterable(
        merged,
        (error) =>
          new CommandFailed({
            message: `The rows cannot be read from ${file === "-" ? "standard input" : file}: ${reason(error)}`,
          }),
      )
    }),
  )
