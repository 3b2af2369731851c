/** Reads the rows of an import from CSV or NDJSON, as they arrive. */
import { Predicate } from "effect"
import type { Stream } from "effect"
import { pipeline, Readable } from "node:stream"
import { parseJson } from "../../../kernel/values/Decimal.ts"
import { reason } from "../../../infra/embedded/Errors.ts"
import type { CommandFailed } from "../../Failure.ts"
import { cannotRead, inputOf, linesOf, streamOf, textOf } from "../../input/Input.ts"
import type { Input } from "../../input/Input.ts"
import { problemsOf, propertiesOf, withDates } from "./Cells.ts"
import { beginningOf, columnsOf } from "./CsvHeader.ts"

export { propertiesOf } from "./Cells.ts"

export const formats = ["csv", "ndjson"] as const
export type Format = (typeof formats)[number]

/** A row, and its number in the file: 1 is the first row after the header. */
export interface Row {
  readonly number: number
  readonly properties: Readonly<Record<string, unknown>>
  /** What is wrong with its cells. Such a row is not sent. */
  readonly problems: ReadonlyArray<string>
}

/** The format of a file by its name; CSV unless it is NDJSON. */
export const formatOf = (file: string): Format => (/\.(ndjson|jsonl)$/i.test(file) ? "ndjson" : "csv")

/** The separator of a CSV text, and its text from the header on. */
const begin = async (texts: AsyncGenerator<string, undefined>) => {
  let text = ""
  for (;;) {
    const { done = false, value } = await texts.next()
    text += value ?? ""
    const beginning = beginningOf(text, done)
    if (beginning !== undefined) return beginning
  }
}

async function* continued(first: string, texts: AsyncGenerator<string, undefined>): AsyncGenerator<string, undefined> {
  yield first
  yield* texts
}

async function* csvRows(input: Input): AsyncGenerator<Row, undefined> {
  const texts = textOf(input)
  const { separator, text } = await begin(texts)
  if (text.trim() === "") return
  // Loaded only for imports.
  const { parse } = await import("csv-parse")
  const parser = parse({
    delimiter: separator,
    skip_empty_lines: true,
    trim: true,
    relax_column_count: true,
    // An empty row of a spreadsheet has separators.
    skip_records_with_empty_values: true,
  })
  // The pipeline fails the parser if the input cannot be read.
  const records: AsyncIterable<ReadonlyArray<string>> = pipeline(
    Readable.from(continued(text, texts)),
    parser,
    () => undefined,
  )
  let columns: ReadonlyArray<string> | undefined
  let number = 0
  for await (const record of records) {
    if (columns === undefined) {
      columns = columnsOf(record)
      continue
    }
    number++
    if (record.length !== columns.length) {
      throw new Error(
        `row ${number} has ${record.length} cells, and the header ${columns.length}. Quote cells with separators or line breaks`,
      )
    }
    const cells: Readonly<Record<string, string>> = Object.fromEntries(
      columns.map((column, index) => [column, record[index] ?? ""]),
    )
    const unnamed = columns.flatMap((column, index) => (column === "" ? (record[index] ?? "") : ""))
    const { "": _unnamed, ...named } = cells
    yield {
      number,
      properties: propertiesOf(named),
      problems: problemsOf({ ...named, "": unnamed.join("") }, separator),
    }
  }
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
    yield { number, properties: withDates({ ...properties }), problems: [] }
  }
}

/** The rows of a file, or of standard input (`-`). */
export const readRows = (file: string, format: Format): Stream.Stream<Row, CommandFailed> => {
  const input = inputOf(file)
  return streamOf(input, format === "csv" ? csvRows : ndjsonRows, cannotRead("The rows", input))
}
