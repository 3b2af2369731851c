/** Calls the service, prints each request and response, and stops if a response is not the expected one. */
import { Console, Context, Effect, Layer, Predicate, Redacted, Schema, SchemaIssue } from "effect"
import { commandLine } from "../infra/PackageFiles.ts"

/** The demo cannot continue. The message states what happened and what to do. */
export class DemoFailed extends Schema.TaggedError<DemoFailed>()("DemoFailed", { message: Schema.String }) {}

/** The URLs of the listeners, without `/api`. */
export interface Origins {
  readonly core: string
  readonly platform: string
  /** The listener of the webhook API: that of the Core API, unless it has one of its own. */
  readonly webhooks: string
}

/** One request of the story. */
interface Request {
  readonly on: keyof Origins
  readonly token: Redacted.Redacted
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** The path after `/api`. */
  readonly path: string
  readonly body?: object
}

/** Builds requests with one token, to the Core API unless another one is named. */
export const as =
  (token: Redacted.Redacted, on: Request["on"] = "core") =>
  (method: Request["method"], path: string, body?: object): Request => ({
    on,
    token,
    method,
    path,
    ...(body === undefined ? {} : { body }),
  })

export type Calls = ReturnType<typeof as>

const MAX_LINES = 30
const audit = new Set(["createdAt", "createdBy", "updatedAt", "updatedBy"])

const shorten = (text: string): string =>
  text.replaceAll(/((?:ks[hm]_|whsec_)[A-Za-z0-9_+/-]{4})[A-Za-z0-9_+/=-]+/g, (_, shown: string) => `${shown}…`)

/** Shortens a long list to its last item, which is the newest event of the stream. */
const sample = (list: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  list.length > 3 && list.every(Predicate.isObject) ? [`… ${list.length - 1} more`, list.at(-1)] : list

/** Removes `null` and audit properties from a response, and shortens secrets. */
const essence = (value: unknown): unknown => {
  if (typeof value === "string") return shorten(value)
  if (Array.isArray(value)) return sample(value).map(essence)
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, property]) =>
      property === null || audit.has(key) ? [] : [[key, essence(property)]],
    ),
  )
}

const show = (value: unknown): string => {
  const lines = JSON.stringify(essence(value), null, 2).split("\n")
  const shown =
    lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES), `… ${lines.length - MAX_LINES} more lines`]
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

const stopped = (request: Request, reason: string) =>
  new DemoFailed({ message: `The demo stopped at ${request.method} /api${request.path}: ${reason}` })

const make = (origins: Origins, log: (line: string) => Effect.Effect<void>) => {
  const send = Effect.fnUntraced(function* (request: Request) {
    const origin = origins[request.on]
    yield* log(`  → ${request.method} ${origin}/api${request.path}`)
    if (request.body !== undefined) yield* log(show(request.body))
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
          message: `No Keyshelf responds at ${origin}. Start one with \`${commandLine("serve")}\`, or pass its URL with --${request.on}.`,
        }),
    })
    const body = text === "" ? undefined : parse(text)
    yield* log(`  ← ${status}`)
    if (body !== undefined) yield* log(show(body))
    return { status, body }
  })

  const expectOneOf = Effect.fnUntraced(function* (request: Request, statuses: ReadonlyArray<number>) {
    const response = yield* send(request)
    if (statuses.includes(response.status)) return response
    const detail = Predicate.hasProperty(response.body, "detail") ? ` ${String(response.body.detail)}` : ""
    return yield* stopped(
      request,
      `expected ${statuses.join(" or ")}, but the response is ${response.status} ${codeOf(response.body)}.${detail}`,
    )
  })

  const expectStatus = (request: Request, status: number) =>
    Effect.map(expectOneOf(request, [status]), ({ body }) => body)

  const shape = <A, I>(request: Request, body: unknown, expected: Schema.Codec<A, I>) =>
    Schema.decodeUnknownEffect(expected)(body).pipe(
      Effect.mapError((error) => stopped(request, `the response has an unexpected shape. ${explain(error.issue)}`)),
    )

  return {
    /** Prints the sentence that introduces a step. */
    print: (sentence: string) => Console.log(`\n${sentence}\n`),

    /** Sends a request that must succeed with this status and a response of this shape. */
    expectSuccess: <A, I>(request: Request, status: number, expected: Schema.Codec<A, I>) =>
      Effect.flatMap(expectStatus(request, status), (body) => shape(request, body, expected)),

    /** Sends a request that may have one of several statuses. */
    expectOneOf,

    /** Requires that a response has this shape. */
    shape,

    /** Sends a request that must succeed with an empty response. */
    expectEmpty: (request: Request) => Effect.asVoid(expectStatus(request, 204)),

    /** Sends a request that must be rejected with this status and code. */
    expectProblem: Effect.fnUntraced(function* (request: Request, status: number, code: string) {
      const body = yield* expectStatus(request, status)
      if (codeOf(body) !== code) {
        return yield* stopped(request, `expected the code ${code}, but it is ${codeOf(body)}.`)
      }
    }),
  }
}

/** Calls the service and prints everything to the console. */
export class Stage extends Context.Service<Stage, ReturnType<typeof make>>()("keyshelf/demo/Stage") {
  static readonly layer = (origins: Origins) => Layer.succeed(Stage, make(origins, Console.log))

  /** Prints the steps, but not the requests. */
  static readonly quiet = (origins: Origins) =>
    Layer.succeed(
      Stage,
      make(origins, () => Effect.void),
    )
}
