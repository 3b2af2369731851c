/**
 * A body that has arrived as a whole is taken in one step. Effect reads every body as a stream, whose end Node.js tells some turns
 * of its loop later: for a check that is a twentieth of the process's time (`docs/performance.md`).
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

const decoder = new TextDecoder()

// All of the body and nothing else waits to be read. What is longer than a stream keeps has not arrived as a whole, so that no
// limit of a body's size is passed here.
const arrivedWhole = (source: ReturnType<typeof NodeHttpServerRequest.toIncomingMessage>): boolean =>
  source.complete && source.readableLength > 0 && String(source.readableLength) === source.headers["content-length"]

/** The bytes of the body, if they are there. The request tells them and their text from now on, as often as it is asked. */
export const takeWholeBody = (request: HttpServerRequest.HttpServerRequest): Uint8Array | undefined => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  if (!arrivedWhole(source)) return undefined
  // Without its length, Node.js may hand out the first piece alone.
  const bytes: unknown = source.read(source.readableLength)
  if (!(bytes instanceof Uint8Array)) return undefined
  Object.defineProperties(request, {
    text: { value: Effect.succeed(decoder.decode(bytes)) },
    arrayBuffer: { value: Effect.sync(() => Uint8Array.from(bytes).buffer) },
  })
  return bytes
}
