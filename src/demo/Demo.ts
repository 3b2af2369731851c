/** A caller that shows each call and its answer, and stops where an answer deviates from the story. */
import { Console, Context, Effect, Layer, Predicate, Redacted, Schema, SchemaIssue } from "effect"

/** The demo cannot go on. The message says what happened and what to do. */
export class DemoFailed extends Schema.TaggedError<DemoFailed>()("DemoFailed", { message: Schema.String }) {}

/** Where the two listeners answer, without `/api`. */
export interface Origins {
  readonly core: string
  readonly platform: string
}

/** One call of the story. */
export interface Request {
  readonly on: keyof Origins
  readonly token: Redacted.Redacted
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Behind `/api`. */
  readonly path: string
  readonly body?: object
}

const LINES = 30
const audit = new Set(["createdAt", "createdBy", "updatedAt", "updatedBy"])

const shorten = (text: string): string =>
  text.replaceAll(/(ks[hm]_[A-Za-z0-9_-]{4})[A-Za-z0-9_-]+/g, (_, shown: string) => `${shown}…`)

/** Of a long list its last item stands for all: the newest of the stream. */
const sample = (list: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  list.length > 3 && list.every(Predicate.isObject) ? [`… ${list.length - 1} more`, list.at(-1)] : list

/** What a reader needs of an answer: no members that are null, no audit members, secrets shortened. */
const essence = (value: unknown): unknown => {
  if (typeof value === "string") return shorten(value)
  if (Array.isArray(value)) return sample(value).map(essence)
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) =>
      member === null || audit.has(key) ? [] : [[key, essence(member)]],
    ),
  )
}

const show = (value: unknown): string => {
  const lines = JSON.stringify(essence(value), null, 2).split("\n")
  const shown = lines.length <= LINES ? lines : [...lines.slice(0, LINES), `… ${lines.length - LINES} more lines`]
  return shown.map((line) => `    ${line}`).join("\n")
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const explain = SchemaIssue.makeFormatterDefault()

const codeOf = (body: unknown): string =>
  Predicate.hasProperty(body, "code") && typeof body.code === "string" ? body.code : "no code"

const deviates = (request: Request, what: string) =>
  new DemoFailed({ message: `The demo stopped at ${request.method} /api${request.path}: ${what}` })

const make = (origins: Origins) => {
  const send = Effect.fnUntraced(function* (request: Request) {
    const origin = origins[request.on]
    yield* Console.log(`  → ${request.method} ${origin}/api${request.path}`)
    if (request.body !== undefined) yield* Console.log(show(request.body))
    const { status, text } = yield* Effect.tryPromise({
      try: async (signal) => {
        const response = await fetch(`${origin}/api${request.path}`, {
          method: request.method,
          headers: {
            authorization: `Bearer ${Redacted.value(request.token)}`,
            ...(request.body === undefined ? {} : { "content-type": "application/json" }),
          },
          ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
          signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
        })
        return { status: response.status, text: await response.text() }
      },
      catch: () =>
        new DemoFailed({
          message: `No Keyshelf answers at ${origin}. Start one with \`npm start\`, or name another with --${request.on}.`,
        }),
    })
    const body = text === "" ? undefined : parse(text)
    yield* Console.log(`  ← ${status}`)
    if (body !== undefined) yield* Console.log(show(body))
    return { status, body }
  })

  const expectStatus = Effect.fnUntraced(function* (request: Request, status: number) {
    const answer = yield* send(request)
    if (answer.status === status) return answer.body
    const said = Predicate.hasProperty(answer.body, "detail") ? ` ${String(answer.body.detail)}` : ""
    return yield* deviates(
      request,
      `expected ${status}, but the answer is ${answer.status} ${codeOf(answer.body)}.${said}`,
    )
  })

  return {
    /** The sentence before a step. */
    tell: (sentence: string) => Console.log(`\n${sentence}\n`),

    /** A call that succeeds with this status and an answer of this shape. */
    succeeds: Effect.fnUntraced(function* <A, I>(request: Request, status: number, shape: Schema.Codec<A, I>) {
      const body = yield* expectStatus(request, status)
      return yield* Schema.decodeUnknownEffect(shape)(body).pipe(
        Effect.mapError((error) => deviates(request, `the answer is not as expected. ${explain(error.issue)}`)),
      )
    }),

    /** A call that succeeds with an empty answer. */
    done: (request: Request) => Effect.asVoid(expectStatus(request, 204)),

    /** A call that is refused with this status and code. */
    refused: Effect.fnUntraced(function* (request: Request, status: number, code: string) {
      const body = yield* expectStatus(request, status)
      if (codeOf(body) !== code) {
        return yield* deviates(request, `expected the code ${code}, but it is ${codeOf(body)}.`)
      }
    }),
  }
}

/** Calls the service and shows everything on the console. */
export class Stage extends Context.Service<Stage, ReturnType<typeof make>>()("keyshelf/demo/Stage") {
  static readonly layer = (origins: Origins) => Layer.succeed(Stage, make(origins))
}
