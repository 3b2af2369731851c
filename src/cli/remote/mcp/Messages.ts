/**
 * Splits standard input into messages of JSON-RPC 2.0, one per line, and answers invalid lines itself. The server gets
 * only complete messages: it would drop all that arrived together with a bad one.
 */
import { Effect, Option, Predicate, Stdio, Stream } from "effect"

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

const LF = 0x0a

interface Bad {
  readonly id: string | number | null
  readonly code: number
  readonly message: string
}

/** A line: a message for the server, an error to answer, or nothing. */
type Line = { readonly message: string } | { readonly bad: Bad } | undefined

const invalid = (message: string, id: Bad["id"] = null): Line => ({ bad: { id, code: INVALID_REQUEST, message } })

const isId = (value: unknown): value is string | number => Predicate.isString(value) || Number.isFinite(value)

/** What is wrong with a value as a request or notification; `undefined` if it is one. */
const errorOf = (value: Readonly<Record<string, unknown>>): string | undefined => {
  if (value["jsonrpc"] !== "2.0") return 'The property `jsonrpc` must be "2.0".'
  if (!Predicate.isString(value["method"])) return "The property `method` must be a text."
  if ("id" in value && !isId(value["id"])) return "The property `id` must be a text or a number."
  const { params } = value
  if (params !== undefined && typeof params !== "object") return "The property `params` must be an object."
  return undefined
}

// The server sends no requests, so nothing waits for a response.
const isResponse = (value: Readonly<Record<string, unknown>>): boolean =>
  value["jsonrpc"] === "2.0" && value["method"] === undefined && ("result" in value || "error" in value)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => Predicate.isObject(value)

/** A message without properties that the protocol does not have. */
const messageOf = ({ id, method, params }: Readonly<Record<string, unknown>>) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
})

const lineOf = (value: unknown): Line => {
  if (Array.isArray(value)) {
    // Some protocol versions accept batches; in the others the server rejects them.
    const requests = value.filter(isRecord)
    if (value.length === 0 || requests.length < value.length || requests.some((one) => errorOf(one) !== undefined)) {
      return invalid("A batch must consist of requests.")
    }
    return { message: JSON.stringify(requests.map(messageOf)) }
  }
  if (!isRecord(value)) return invalid("A message must be an object.")
  if (isResponse(value)) return undefined
  const error = errorOf(value)
  if (error === undefined) return { message: JSON.stringify(messageOf(value)) }
  return invalid(error, isId(value["id"]) ? value["id"] : null)
}

/** Reads one line, without its end. */
export const readLine = (bytes: Uint8Array): Line => {
  try {
    // The decoder removes a byte order mark.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).trim()
    return text === "" ? undefined : lineOf(JSON.parse(text))
  } catch {
    return { bad: { id: null, code: PARSE_ERROR, message: "The line is not JSON in UTF-8." } }
  }
}

/** Splits bytes at line feeds, so that a character that arrives in two parts stays whole. The last line may have none. */
export const linesOf = <E, R>(input: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
  input.pipe(
    Stream.mapAccum(
      (): Array<Uint8Array> => [],
      (open, chunk): readonly [Array<Uint8Array>, ReadonlyArray<Uint8Array>] => {
        const lines: Array<Uint8Array> = []
        let from = 0
        for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
          lines.push(Buffer.concat([...open, chunk.subarray(from, at)]))
          open = []
          from = at + 1
        }
        return [[...open, chunk.subarray(from)], lines]
      },
      { onHalt: (open) => [Buffer.concat(open)] },
    ),
  )

const errorText = ({ code, id, message }: Bad): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`

/** Standard input as complete messages. Bad lines are answered on standard output. */
export const messagesOnly = Effect.map(Stdio.Stdio, (stdio) =>
  Stdio.make({
    ...stdio,
    stdin: linesOf(stdio.stdin).pipe(
      Stream.mapEffect((bytes) => {
        const line = readLine(bytes)
        if (line === undefined) return Effect.succeed(Option.none<Uint8Array>())
        if ("message" in line) return Effect.succeed(Option.some(Buffer.from(`${line.message}\n`)))
        return Stream.make(errorText(line.bad)).pipe(Stream.run(stdio.stdout()), Effect.as(Option.none()))
      }),
      Stream.filter(Option.isSome),
      Stream.map(({ value }) => value),
    ),
  }),
)
