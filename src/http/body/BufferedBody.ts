/**
 * Reads a fully buffered body in one step. Effect reads every body as a stream, whose end Node.js signals several event
 * loop turns later. For a check, that costs 5 % of the process's time (`docs/performance.md`).
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

const decoder = new TextDecoder()

// Whether the buffer contains exactly the whole body. A body longer than the stream's buffer never qualifies, so this
// cannot bypass the limit on body size.
const isFullyBuffered = (source: ReturnType<typeof NodeHttpServerRequest.toIncomingMessage>): boolean =>
  source.complete && source.readableLength > 0 && String(source.readableLength) === source.headers["content-length"]

/**
 * Returns the bytes of the body if it is fully buffered. The request then serves bytes and text from memory, any number
 * of times.
 */
export const readBufferedBody = (request: HttpServerRequest.HttpServerRequest): Uint8Array | undefined => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  if (!isFullyBuffered(source)) return undefined
  // Without a length, Node.js may return only the first chunk.
  const bytes: unknown = source.read(source.readableLength)
  if (!(bytes instanceof Uint8Array)) return undefined
  Object.defineProperties(request, {
    text: { value: Effect.succeed(decoder.decode(bytes)) },
    arrayBuffer: { value: Effect.sync(() => Uint8Array.from(bytes).buffer) },
  })
  return bytes
}
