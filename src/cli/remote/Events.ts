/** `keyshelf events tail`: follows the events of an organization until it is interrupted. */
import { Console, Duration, Effect, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { Sse } from "effect/encoding"
import { HttpClientRequest } from "effect/http"
import { EXIT_CODES } from "./connection/ExitCodes.ts"
import { flagsFor } from "./Flags.ts"
import type { Operation } from "./Operations.ts"
import { eventText, pagesOf } from "./Lists.ts"
import { asked } from "./Requests.ts"
import { noResponse, Service } from "./connection/Service.ts"
import type { Request, RequestFailed } from "./connection/Service.ts"

// The service sends a comment every 15 seconds, and tells readers to reconnect after this time (docs/events.md).
const MAX_SILENCE = Duration.seconds(30)
const RECONNECT_DELAY = Duration.seconds(1)

const Json = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** Not of a live stream: the position is a cursor there, and the stream has no pages, no end and one order. */
const NOT_LIVE: ReadonlyArray<string> = ["limit", "order", "until"]

const isTemporary = (error: RequestFailed): boolean => error.exitCode === EXIT_CODES.unavailable

interface Tail {
  readonly request: Request
  /** How many events are printed before the command ends. */
  readonly count: number
  readonly isJson: boolean
}

const follow = Effect.fnUntraced(function* ({ count, isJson, request }: Tail) {
  const { execute, url } = yield* Service
  const reader: { left: number; position: string | undefined } = { left: count, position: undefined }

  const print = Effect.fnUntraced(function* (event: Readonly<Record<string, unknown>>) {
    if (reader.left === 0) return
    reader.left -= 1
    yield* Console.log(isJson ? JSON.stringify(event) : eventText(event))
  })

  /** Prints what was stored before. The live stream goes on from there. */
  const readPast = pagesOf(request).pipe(
    Stream.tap(({ items, nextCursor }) =>
      Effect.gen(function* () {
        yield* Effect.forEach(items, print, { discard: true })
        reader.position = nextCursor
      }),
    ),
    Stream.takeUntil(() => reader.left === 0),
    Stream.runDrain,
  )

  /** One connection, until it breaks or enough events are printed. */
  const readLive = Effect.gen(function* () {
    const response = yield* execute(
      HttpClientRequest.get(url + request.path, {
        urlParams: request.query,
        headers: {
          accept: "text/event-stream",
          ...(reader.position === undefined ? {} : { "last-event-id": reader.position }),
        },
      }),
    )
    const received: Array<Sse.Event> = []
    const parser = Sse.makeParser((event) => {
      if (event._tag === "Event") received.push(event)
    })
    yield* response.stream.pipe(
      Stream.mapError((error) => noResponse(url, error)),
      Stream.decodeText,
      Stream.splitLines,
      Stream.timeout(MAX_SILENCE),
      Stream.tap((line) =>
        Effect.gen(function* () {
          // The stream begins with a position that belongs to no event.
          if (reader.position === undefined && line.startsWith("id:")) reader.position = line.slice("id:".length).trim()
          parser.feed(`${line}\n`)
          for (const { data, id } of received.splice(0)) {
            yield* print(yield* Effect.orDie(Schema.decodeUnknownEffect(Json)(data)))
            reader.position = id ?? reader.position
          }
        }),
      ),
      Stream.takeUntil(() => reader.left === 0),
      Stream.runDrain,
    )
  })

  if (request.query["since"] !== undefined || request.query["cursor"] !== undefined) yield* readPast
  let isConnectedOnce = false
  while (reader.left > 0) {
    yield* readLive.pipe(
      Effect.catchIf(
        (error) => isTemporary(error) && (isConnectedOnce || reader.position !== undefined),
        (error) => Console.error(`${error.message} Trying again.`),
      ),
    )
    isConnectedOnce = true
    if (reader.left > 0) yield* Effect.sleep(RECONNECT_DELAY)
  }
})

/** Makes the command from the operation that lists events. */
export const tailCommand = (list: Operation) => {
  const operation = { ...list, queryInputs: list.queryInputs.filter(({ name }) => !NOT_LIVE.includes(name)) }
  return Command.make(
    "tail",
    {
      ...flagsFor(operation),
      count: Flag.Int("count").pipe(
        Flag.withDescription("End after this number of events; default: never"),
        Flag.filter(
          (count) => count > 0,
          () => "Expected a number of at least 1",
        ),
        Flag.optional,
      ),
    },
    Effect.fn(function* (values) {
      const count = Option.getOrElse(values.count, () => Infinity)
      yield* asked(operation, values, (request) => follow({ request, isJson: values.json, count }))
    }),
  ).pipe(
    Command.withDescription(
      "Print new events as they happen, until it is interrupted. With --since or --cursor, it prints the events since then first. It reconnects by itself and misses no event.",
    ),
    Command.withShortDescription("Print new events as they happen"),
  )
}
