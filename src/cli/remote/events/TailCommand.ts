/** `keyshelf events tail`: follows the events of an organization until it is interrupted. */
import { Console, Effect, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { print } from "../../Ending.ts"
import { flagsFor } from "../Flags.ts"
import type { Operation } from "../Operations.ts"
import { eventText } from "../Lists.ts"
import { asked } from "../Requests.ts"
import { EXIT_CODES } from "../connection/ExitCodes.ts"
import { RequestFailed } from "../connection/Service.ts"
import type { Request } from "../connection/Service.ts"
import { liveEvents, RECONNECT_DELAY, storedEvents } from "./EventFeed.ts"
import type { Batch, FeedEvent } from "./EventFeed.ts"

/** Flags that a live stream does not have: its position is a cursor, and it has no pages, no end and one order. */
const NOT_LIVE: ReadonlyArray<string> = ["limit", "order", "until"]

const isTemporary = (error: unknown): boolean =>
  error instanceof RequestFailed && error.exitCode === EXIT_CODES.unavailable

interface Tail {
  readonly request: Request
  /** How many events are printed before the command ends. */
  readonly count: number
  readonly isJson: boolean
}

const follow = Effect.fnUntraced(function* ({ count, isJson, request }: Tail) {
  const reader: { left: number; position: string | undefined } = { left: count, position: undefined }

  const printEvent = Effect.fnUntraced(function* (event: FeedEvent) {
    if (reader.left === 0) return
    reader.left -= 1
    yield* print(isJson ? JSON.stringify(event) : eventText(event))
  })

  const printBatch = Effect.fnUntraced(function* ({ events, position }: Batch) {
    yield* Effect.forEach(events, printEvent, { discard: true })
    reader.position = position
  })
  const printed = <E, R>(batches: Stream.Stream<Batch, E, R>) =>
    batches.pipe(
      Stream.tap(printBatch),
      Stream.takeUntil(() => reader.left === 0),
      Stream.runDrain,
    )

  if (request.query["since"] !== undefined || request.query["cursor"] !== undefined) {
    yield* printed(storedEvents(request))
  }
  let isConnectedOnce = false
  while (reader.left > 0) {
    yield* printed(liveEvents(request, reader.position)).pipe(
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
