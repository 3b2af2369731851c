/** A client of the live stream, and a second node on the same database. */
import { Cause, Context, Effect, Layer, Queue } from "effect"
import { Sse } from "effect/encoding"
import { TestService } from "../support/TestService.ts"

/** An event as received over the wire. */
export interface Received {
  readonly id: string
  readonly event: string
  readonly data: { readonly id: string; readonly type: string; readonly data: { readonly name: string } }
}

/** An open stream. */
interface Reader {
  readonly status: number
  readonly headers: Headers
  /** The next event; fails when the stream has ended. */
  readonly next: Effect.Effect<Received, Cause.Done>
  /** Waits until the stream ends. */
  readonly ended: Effect.Effect<void>
  /** All received text, including comments. */
  readonly text: () => string
  /** The cursor to resume from: the last id, even if it came without an event. */
  readonly lastId: () => string
  /** Disconnects abruptly. */
  readonly close: Effect.Effect<void>
}

/** Opens a stream, which closes with the scope. `path` starts with `/events`. */
export const follow = Effect.fnUntraced(function* (
  origin: string,
  token: string,
  path = "/events",
  headers: Record<string, string> = {},
) {
  const abort = new AbortController()
  yield* Effect.addFinalizer(() => Effect.sync(() => abort.abort()))
  const response = yield* Effect.promise(() =>
    fetch(`${origin}/api${path}`, {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream", ...headers },
      signal: abort.signal,
    }),
  )
  const received = yield* Queue.unbounded<Received, Cause.Done>()
  let text = ""
  let reason: unknown = "it was complete"
  const parser = Sse.makeParser((event) => {
    if (event._tag !== "Event") return
    Queue.offerUnsafe(received, { id: event.id ?? "", event: event.event, data: JSON.parse(event.data) })
  })
  const pump = async () => {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) {
        const part = decoder.decode(chunk, { stream: true })
        text += part
        parser.feed(part)
      }
    } catch (error) {
      // The test or the service closed the connection.
      reason = error
    }
    Queue.endUnsafe(received)
  }
  const pumping = pump()
  const reader: Reader = {
    status: response.status,
    headers: response.headers,
    next: Effect.tapError(Queue.take(received), () =>
      Effect.logInfo(`The stream with status ${response.status} has ended`, reason, text.slice(-500)),
    ),
    ended: Effect.promise(() => pumping),
    text: () => text,
    lastId: () => [...text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? "",
    close: Effect.andThen(
      Effect.sync(() => abort.abort()),
      Effect.promise(() => pumping),
    ),
  }
  return reader
})

/** The names of the next `count` events. */
export const names = (reader: Reader, count: number) =>
  Effect.map(Effect.replicateEffect(reader.next, count), (events) => events.map(({ data }) => data.data.name))

/** Starts another node of the service on the database of this test. */
export const anotherNode = Effect.map(Layer.build(Layer.fresh(TestService.separate)), (built) =>
  Context.get(built, TestService),
)
