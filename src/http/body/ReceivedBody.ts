/**
 * Receives the body of a request, which then serves bytes and text from memory, any number of times.
 *
 * Effect reads every body as a stream, whose end Node.js signals several event loop turns later. For a check, that costs 5 % of
 * the process's time (`docs/maintainers/performance.md`), so a body that is buffered completely is read in one step. Of a
 * large body the values are counted meanwhile: one with too many is not received to its end.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { ByteSize } from "effect"
import { HttpIncomingMessage } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { makeValueCounter } from "./Excerpt.ts"

/** The maximum number of values in a body: properties of objects and items of arrays, at all depths together. */
export const MAX_VALUES = 30_000

// Enough for a hundred errors, if there are any.
const EXCERPT_OF_TOO_MANY = 300

// Parsing an object with this many unknown properties takes 8 ms. A batch of 500 events has fewer values, unless they have much data.
const MANY_VALUES = 4_000

/**
 * What was received: the whole body, or the beginning of one with too many values, closed so that it is JSON. A body with many values
 * comes with its beginning too, which is parsed first: if it is wrong, the rest costs nothing.
 */
type ReceivedBody = { readonly bytes: Uint8Array; readonly beginning?: string } | { readonly tooLong: string }

type Source = ReturnType<typeof NodeHttpServerRequest.toIncomingMessage>

const decoder = new TextDecoder()

const serveFromMemory = (request: HttpServerRequest.HttpServerRequest, bytes: Uint8Array) => {
  let text: string | undefined
  Object.defineProperties(request, {
    text: { value: Effect.sync(() => (text ??= decoder.decode(bytes))) },
    arrayBuffer: { value: Effect.sync(() => Uint8Array.from(bytes).buffer) },
  })
  return { bytes }
}

// Whether the buffer contains exactly the whole body. A body longer than the stream's buffer never qualifies, so this
// cannot bypass the limit on body size.
const isFullyBuffered = (source: Source): boolean =>
  source.complete && source.readableLength > 0 && String(source.readableLength) === source.headers["content-length"]

const newCounter = () => makeValueCounter(MAX_VALUES, EXCERPT_OF_TOO_MANY)

const countedBody = (
  received: { readonly bytes: Uint8Array },
  counter: ReturnType<typeof makeValueCounter>,
): ReceivedBody => {
  const beginning = counter.values() < MANY_VALUES ? undefined : counter.beginning()
  return beginning === undefined ? received : { ...received, beginning }
}

const receiveAndCount = (request: HttpServerRequest.HttpServerRequest, source: Source): Effect.Effect<ReceivedBody> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    const counter = newCounter()
    const stop = () => {
      source.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose)
    }
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      if (!counter.count(chunk)) return
      stop()
      // The listener closes the connection after the response.
      source.pause()
      resume(Effect.succeed({ tooLong: counter.beginning() ?? "" }))
    }
    const onEnd = () => {
      stop()
      resume(Effect.succeed(countedBody(serveFromMemory(request, Buffer.concat(chunks)), counter)))
    }
    const onError = (error: Error) => {
      stop()
      resume(Effect.die(error))
    }
    const onClose = () => onError(new Error("The client disconnected"))
    source.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose)
    return Effect.sync(stop)
  })

// Each value takes a character and a comma at least.
const MANY_BYTES = MANY_VALUES * 2

/** Whether the values can be counted while the body is received: it is large, within the limit, and on its way. */
const canBeCounted = ({ headers }: Source, maxBytes: ByteSize.ByteSize | undefined): boolean => {
  const length = Number(headers["content-length"])
  return length >= MANY_BYTES && length <= Number(maxBytes ?? 0) && headers.expect === undefined
}

const countReceived = (request: HttpServerRequest.HttpServerRequest, bytes: Uint8Array): ReceivedBody => {
  const received = serveFromMemory(request, bytes)
  if (bytes.length < MANY_BYTES) return received
  const counter = newCounter()
  if (counter.count(Buffer.from(bytes))) return { tooLong: counter.beginning() ?? "" }
  return countedBody(received, counter)
}

/** Receives a body. */
export const receiveBody = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<ReceivedBody> => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  if (isFullyBuffered(source)) {
    // Without a length, Node.js may return only the first chunk.
    const bytes: unknown = source.read(source.readableLength)
    if (bytes instanceof Uint8Array) return Effect.succeed(countReceived(request, bytes))
  }
  return Effect.withFiber((fiber) =>
    canBeCounted(source, fiber.getRef(HttpIncomingMessage.MaxBodySize))
      ? receiveAndCount(request, source)
      : Effect.map(Effect.orDie(request.arrayBuffer), (bytes) => countReceived(request, new Uint8Array(bytes))),
  )
}
