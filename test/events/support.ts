/** A reader of the live stream, and second services on the database of the first. */
import { Cause, Context, Effect, Layer, Queue } from "effect"
import { Sse } from "effect/encoding"
import { TestService } from "../support/TestService.ts"

/** An event as it came over the wire. */
export interface Received {
  readonly id: string
  readonly event: string
  readonly data: { readonly id: string; readonly type: string; readonly data: { readonly name: string } }
}

/** An open stream. */
export interface Reader {
  readonly status: number
  readonly headers: Headers
  /** The next event; fails when the stream has ended. */
  readonly next: Effect.Effect<Received, Cause.Done>
  /** Waits for the end. */
  readonly ended: Effect.Effect<void>
  /** All text that came, with its comments. */
  readonly text: () => string
  /** The cursor to resume from: the last id, also one that came without an event. */
  readonly lastId: () => string
  /** Goes away without a word. */
  readonly close: Effect.Effect<void>
}

/** Opens a stream; it is closed with the scope. `path` begins with `/events`. */
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
    } catch {
      // The test went away, or the service cut the line.
    }
    Queue.endUnsafe(received)
  }
  const pumping = pump()
  const reader: Reader = {
    status: response.status,
    headers: response.headers,
    next: Queue.take(received),
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

/** The names of the next events. */
export const names = (reader: Reader, count: number) =>
  Effect.map(Effect.replicateEffect(reader.next, count), (events) => events.map(({ data }) => data.data.name))

/** Another node of the service on the database of this test. */
export const anotherNode = Effect.map(Layer.build(Layer.fresh(TestService.layer)), (built) =>
  Context.get(built, TestService),
)
