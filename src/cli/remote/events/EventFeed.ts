/** The event stream of an organization: pages of stored events, then a live stream that continues from there. */
import { Duration, Effect, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpClientRequest } from "effect/http"
import { pagesOf } from "../Lists.ts"
import { noResponse, Service } from "../connection/Service.ts"
import type { Request } from "../connection/Service.ts"

/** An event as the service returns it. */
export type FeedEvent = Readonly<Record<string, unknown>>

/** Events that were read together, and the position after them. */
export interface Batch {
  readonly events: ReadonlyArray<FeedEvent>
  readonly position: string
}

// The service sends a comment every 15 seconds, and asks readers to reconnect after this time (docs/events.md).
const MAX_SILENCE = Duration.seconds(30)

/** How long a reader waits before it connects again. */
export const RECONNECT_DELAY = Duration.seconds(1)

const Json = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** The stored events after the request's cursor. The live stream continues from the last position. */
export const storedEvents = (request: Request) =>
  Stream.map(pagesOf(request), ({ items, nextCursor }): Batch => ({ events: items, position: nextCursor }))

/**
 * One connection to the live stream, until it breaks. It begins after a position, or with new events. The first batch has no
 * events, so that a reader can resume before it has received any.
 */
export const liveEvents = (request: Request, position: string | undefined) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { execute, url } = yield* Service
      const response = yield* execute(
        HttpClientRequest.get(url + request.path, {
          urlParams: request.query,
          headers: {
            accept: "text/event-stream",
            ...(position === undefined ? {} : { "last-event-id": position }),
          },
        }),
      )
      let last = position
      let received: Array<Sse.Event> = []
      const parser = Sse.makeParser((event) => {
        if (event._tag === "Event") received.push(event)
      })
      return response.stream.pipe(
        Stream.mapError((error) => noResponse(url, error)),
        Stream.decodeText,
        Stream.splitLines,
        Stream.timeout(MAX_SILENCE),
        Stream.mapArrayEffect(
          Effect.fnUntraced(function* (lines) {
            const before = last
            for (const line of lines) {
              // The stream begins with a position that belongs to no event.
              if (last === undefined && line.startsWith("id:")) last = line.slice("id:".length).trim()
              parser.feed(`${line}\n`)
            }
            const events = yield* Effect.forEach(received, ({ data }) =>
              Effect.orDie(Schema.decodeUnknownEffect(Json)(data)),
            )
            last = received.at(-1)?.id ?? last
            received = []
            const batch: Batch = { events, position: last ?? "" }
            return [last === before ? undefined : batch] as const
          }),
        ),
        Stream.filter((batch) => batch !== undefined),
      )
    }),
  )
