/** `keyshelf import`: sends a file of any length to the service, and can resume where it stopped. */
import { Console, Effect, Option, Runtime, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { EXIT_CODES } from "../connection/ExitCodes.ts"
import { Service } from "../connection/Service.ts"
import { asking } from "../connection/Target.ts"
import { CommandFailed } from "../../Failure.ts"
import { common } from "../Flags.ts"
import { formatOf, formats, readRows } from "./ImportRows.ts"
import type { Format, Row } from "./ImportRows.ts"

const kinds = ["customers", "instances", "overrides", "addOns", "credits"] as const

// The service accepts 1,000 rows and 1 MiB per request.
const MAX_ROWS = 1_000
const MAX_BYTES = 900_000
const DEFAULT_ROWS = 500

const Result = Schema.Struct({
  index: Schema.Number,
  status: Schema.Literals(["created", "updated", "unchanged", "rejected"]),
  slug: Schema.NullOr(Schema.String),
  code: Schema.optionalKey(Schema.String),
  errors: Schema.optionalKey(Schema.Array(Schema.Struct({ location: Schema.String, message: Schema.String }))),
})
const Results = Schema.Struct({ results: Schema.Array(Result) })

/** Some rows were rejected. The others are imported. */
class RowsRejected extends Schema.TaggedError<RowsRejected>()("RowsRejected", { message: Schema.String }) {
  override readonly [Runtime.errorExitCode] = EXIT_CODES.rejected
}

interface Import {
  readonly kind: (typeof kinds)[number]
  readonly file: string
  readonly format: Format
  /** The number of the first row to send. */
  readonly from: number
  readonly batch: number
  readonly isJson: boolean
}

type Counts = Record<(typeof Result.Type)["status"], number>

const countsText = (counts: Counts): string =>
  Object.entries(counts)
    .map(([status, count]) => `${count.toLocaleString("en")} ${status}`)
    .join(", ")

interface Batch {
  rows: Array<Row>
  bytes: number
}

/** Groups rows into batches within the limits of rows and bytes. */
const inBatches = (size: number) => (rows: Stream.Stream<Row, CommandFailed>) =>
  rows.pipe(
    Stream.map((row) => ({ row, bytes: Buffer.byteLength(JSON.stringify(row.properties)) + 1 })),
    Stream.mapAccum(
      (): Batch => ({ rows: [], bytes: 0 }),
      (open, { bytes, row }): readonly [Batch, ReadonlyArray<ReadonlyArray<Row>>] =>
        open.rows.length === size || (open.rows.length > 0 && open.bytes + bytes > MAX_BYTES)
          ? [{ rows: [row], bytes }, [open.rows]]
          : [{ rows: [...open.rows, row], bytes: open.bytes + bytes }, []],
      { onHalt: (open) => (open.rows.length === 0 ? [] : [open.rows]) },
    ),
  )

const isClear = ({ problems }: Row): boolean => problems.length === 0

const rejectionOf = ({ problems }: Row, index: number): typeof Result.Type => ({
  index,
  status: "rejected",
  slug: null,
  code: "Import.AmbiguousCell",
  errors: problems.map((message) => ({ location: "", message })),
})

/** Where an error is in the row: `body.rows[3].name` is `name`. */
const placeIn = (location: string): string => location.replace(/^body\.rows\[\d+\]\.?/, "")

const run = Effect.fnUntraced(function* ({ batch, file, format, from, isJson, kind }: Import) {
  const { send } = yield* Service
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, rejected: 0 }
  let done = from - 1

  const report = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>, results: ReadonlyArray<typeof Result.Type>) {
    for (const { code, errors = [], index, slug, status } of results) {
      counts[status]++
      if (status !== "rejected") continue
      const row = rows[index]?.number ?? 0
      const places = errors.map(({ location, message }) => `${placeIn(location)} ${message}`.trim())
      yield* Console.log(
        isJson
          ? JSON.stringify({ row, slug, code, errors })
          : `row ${row}${slug === null ? "" : ` (${slug})`}: ${code ?? ""}: ${places.join("; ")}`,
      )
    }
  })

  const sendRows = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    if (rows.length === 0) return
    const response = yield* send({
      method: "POST",
      path: "/api/imports",
      query: {},
      // Numbers with many digits are JSON texts of their own.
      body: Option.some({ kind, rows: rows.map(({ properties }) => properties) } as Schema.Json),
      idempotencyKey: Option.some(globalThis.crypto.randomUUID()),
    })
    const { results } = yield* Schema.decodeUnknownEffect(Results)(response).pipe(
      Effect.mapError(
        (error) => new CommandFailed({ message: `The response is not that of an import. ${error.message}` }),
      ),
    )
    yield* report(rows, results)
  })

  /** Rejects rows with ambiguous cells, as the service rejects invalid ones, and sends the rest. */
  const sendBatch = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    const [sent, refused] = [rows.filter(isClear), rows.filter((row) => !isClear(row))]
    yield* sendRows(sent)
    yield* report(refused, refused.map(rejectionOf))
    done = rows.at(-1)?.number ?? done
    yield* Console.error(`${done.toLocaleString("en")} rows: ${countsText(counts)}`)
  })

  const resume = Effect.suspend(() =>
    Console.error(`Rows up to ${done.toLocaleString("en")} are imported. Go on with --from ${done + 1}.`),
  )
  yield* readRows(file, format).pipe(
    Stream.filter(({ number }) => number >= from),
    inBatches(batch),
    Stream.runForEach(sendBatch),
    Effect.tapError(() => resume),
    Effect.onInterrupt(() => resume),
  )
  if (done < from)
    yield* Console.error(`0 rows: ${from === 1 ? "the file has none" : `the file has none from ${from} on`}`)
  if (isJson) yield* Console.log(JSON.stringify({ rows: done - from + 1, ...counts }))
  if (counts.rejected > 0) {
    return yield* new RowsRejected({ message: `${counts.rejected.toLocaleString("en")} rows were rejected.` })
  }
})

const positive = (name: string, most: number, description: string, fallback: number) =>
  Flag.Int(name).pipe(
    Flag.withDescription(description),
    Flag.filter(
      (value) => value >= 1 && value <= most,
      () => `Expected a number from 1 to ${most}`,
    ),
    Flag.withDefault(fallback),
  )

export const importCommand = Command.make(
  "import",
  {
    ...common,
    kind: Argument.Literals("kind", kinds).pipe(Argument.withDescription("What the rows are")),
    file: Argument.String("file").pipe(Argument.withDescription("A CSV or NDJSON file, or - for standard input")),
    format: Flag.Literals("format", formats).pipe(
      Flag.withDescription("Default: by the file's extension, otherwise csv"),
      Flag.optional,
    ),
    from: positive("from", Number.MAX_SAFE_INTEGER, "The first row to send, where an import goes on", 1),
    batch: positive("batch", MAX_ROWS, "The most rows per request", DEFAULT_ROWS),
  },
  Effect.fn(function* ({ batch, file, format, from, json: isJson, kind, profile }) {
    const options = { kind, file, format: Option.getOrElse(format, () => formatOf(file)), from, batch, isJson }
    yield* asking({ profile, json: isJson }, run(options), "/api")
  }),
).pipe(
  Command.withDescription(
    "Create and change many records. Rows are matched to existing records, so an import can be repeated. Rejected rows are printed; exits with 2 if there are any.",
  ),
  Command.withShortDescription("Create and change many records from a file"),
  Command.withExamples([
    { command: "keyshelf import customers customers.csv" },
    { command: "keyshelf import overrides - --format ndjson < overrides.ndjson" },
  ]),
)
