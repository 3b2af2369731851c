/** HTTP listeners. They bind to the loopback interface by default, and drain on shutdown. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Context, Effect, Layer, Option, Predicate, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServer } from "effect/http"
import { createServer, ServerResponse, STATUS_CODES } from "node:http"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { problemFor, undeclaredProblems } from "../kernel/contract/Problem.ts"
import { HeldResponse } from "../kernel/ports/HeldResponse.ts"
import { Shutdown } from "../kernel/ports/Shutdown.ts"
import { makeGuard } from "./ConnectionLimit.ts"
import type { Guard } from "./ConnectionLimit.ts"
import { SECURITY_HEADERS } from "./SecurityHeaders.ts"
import { forgettingRequests } from "./RequestFibers.ts"
import { requestContext } from "./RequestContext.ts"
import { requestIdOf } from "./middleware/ProblemResponses.ts"

/** A listener that cannot be opened. The message names the setting to change. */
class ListenerUnavailable extends Schema.TaggedError<ListenerUnavailable>()("ListenerUnavailable", {
  message: Schema.String,
}) {}

const problemText = (status: number, path: string) =>
  JSON.stringify({ ...problemFor(status in undeclaredProblems ? status : 400), status, instance: path })

const sendProblem = (request: IncomingMessage, response: ServerResponse, status: number) => {
  const body = problemText(status, request.url ?? "/")
  response.writeHead(status, {
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
    ...(status === 503 ? { "retry-after": "1" } : {}),
    ...SECURITY_HEADERS,
    connection: "close",
    "x-request-id": requestIdOf(request.headers["x-request-id"]?.toString()),
  })
  response.end(body)
}

const statusOfParseError = (error: Error): number => {
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  if (code === "HPE_HEADER_OVERFLOW") return 431
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400
}

const SECURITY_LINES = Object.entries(SECURITY_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("")

// Writes a response to the raw socket, for errors without a response object. Their path is unknown, and may be that of
// a page.
const writeProblem = (socket: Duplex, status: number, path: string) => {
  if (socket.destroyed || !socket.writable) return
  const body = problemText(status, path)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/problem+json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestIdOf(undefined)}\r\nconnection: close\r\n${SECURITY_LINES}\r\n${body}`,
  )
}

// Node.js no longer manages the socket of a CONNECT request: without these handlers its errors would crash the process,
// and it would stay open.
const onConnect = (request: IncomingMessage, socket: Duplex) => {
  socket.on("error", () => socket.destroy())
  socket.once("finish", () => socket.destroy())
  writeProblem(socket, 404, request.url ?? "/")
}

/**
 * Makes Node.js send a complete response in one write. Effect enables Node.js's check of the body against
 * `content-length`, which forces two writes. A string body has the right length already and does not need the check.
 * A held response does not end here: it passes to the writer that it names, and the request's fiber ends.
 */
class WholeResponse extends ServerResponse {
  #isBegun = false
  #isFlushed = false

  /**
   * Sends text of a held response. The first one goes with the headers, which Node.js keeps until the end of the tick. Later ones are one
   * write to the socket each: Node.js would send size, text and end of a chunk as three.
   */
  send(text: string): void {
    const { socket } = this
    if (this.#isFlushed && socket !== null) {
      socket.write(this.chunkedEncoding ? `${text.length.toString(16)}\r\n${text}\r\n` : text, "latin1")
      return
    }
    this.write(text)
    if (!this.#isBegun) setImmediate(() => (this.#isFlushed = true))
    this.#isBegun = true
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: () => void): this {
    if (chunk instanceof HeldResponse) {
      chunk.begin(this)
      if (Predicate.isFunction(encoding)) encoding()
      return this
    }
    if (typeof chunk === "string") this.strictContentLength = false
    return super.end(chunk, encoding as BufferEncoding, callback)
  }
}

/** The maximum size of all headers of a request: the largest token of an identity provider (16 KiB), and 8 KiB for the others. */
const MAX_HEADER_BYTES = 24 * 1024

// Sends problem documents also for requests that Node.js rejects itself, without a body or by closing the connection.
const makeServer = (guard: Guard) => () => {
  // `ProblemResponses` checks `Host` itself.
  const server = createServer({
    ServerResponse: WholeResponse,
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    keepAliveTimeout: 65_000,
    requireHostHeader: false,
  })
  server.on("request", (request, response) => {
    // The socket listens before the service is fully built. A request at that point must not hang.
    if (server.listenerCount("request") === 1) sendProblem(request, response, 503)
  })
  server.on("clientError", (error, socket) => writeProblem(socket, statusOfParseError(error), ""))
  server.on("checkExpectation", (request, response) => sendProblem(request, response, 417))
  server.on("connect", onConnect)
  guard(server)
  return server
}

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? String(cause.code) : "")

const listenError = (host: string, port: number, setting: string, cause: unknown): ListenerUnavailable => {
  const address = `${host}:${port}`
  switch (codeOf(cause)) {
    case "EADDRINUSE":
      return new ListenerUnavailable({
        message: `${address} is in use by another process. Stop it, or set ${setting} to a free port.`,
      })
    case "EACCES":
      return new ListenerUnavailable({
        message: `This user is not allowed to listen on ${address}. Set ${setting} to a port above 1023.`,
      })
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new ListenerUnavailable({ message: `This machine has no address "${host}". Correct SERVICE_HOST.` })
    default:
      return new ListenerUnavailable({
        message: `${address} (${setting}) cannot be opened: ${codeOf(cause) || String(cause)}`,
      })
  }
}

// Longer than any request line that Node.js accepts, so that the schema rejects long segments and names their location.
const MAX_SEGMENT_LENGTH = 16 * 1024

// Built last, so that it is finalized first: it ends live streams before the listener waits for open requests.
const signalShutdown = Layer.effectDiscard(
  Effect.flatMap(Effect.serviceOption(Shutdown), (shutdown) =>
    Option.isSome(shutdown) ? Effect.addFinalizer(() => shutdown.value.begin) : Effect.void,
  ),
)

const withSmallContexts = (server: HttpServer.HttpServer["Service"]) =>
  HttpServer.make({
    ...server,
    serve: (httpEffect, middleware) =>
      forgettingRequests(httpEffect, (handler) =>
        Effect.updateContext(
          middleware === undefined ? server.serve(handler) : server.serve(handler, middleware),
          requestContext,
        ),
      ),
  })

/** The address of a listener. */
interface ListenerOptions {
  readonly host: string
  readonly port: number
  /** The setting of the port, for error messages. */
  readonly setting: string
  /** Whether the connections may use the reserve of file descriptors, as those of probes do. */
  readonly mayUseReserve?: boolean
}

/** Serves routes on an address. */
export const serve = <A, E, R>(routes: Layer.Layer<A, E, R>, options: ListenerOptions) =>
  HttpRouter.serve(routes, {
    // A log line per request costs a quarter of the throughput. `ProblemResponses` logs problems, and requests are
    // traced.
    disableLogger: true,
    disableListenLog: true,
    // Each route has exactly one spelling, so that no variant can bypass a gateway's rules.
    routerConfig: {
      maxParamLength: MAX_SEGMENT_LENGTH,
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
    },
  }).pipe(
    // Fresh, so that each listener signals its own shutdown instead of sharing one finalizer.
    (served) => Layer.provideMerge(Layer.fresh(signalShutdown), served),
    Layer.provideMerge(
      Layer.effectContext(
        makeGuard(options.mayUseReserve !== true).pipe(
          Effect.flatMap((guard) =>
            Layer.build(
              NodeHttpServer.layer(makeServer(guard), {
                host: options.host,
                port: options.port,
                gracefulShutdownTimeout: "10 seconds",
              }),
            ),
          ),
          Effect.map((built) =>
            Context.add(built, HttpServer.HttpServer, withSmallContexts(Context.get(built, HttpServer.HttpServer))),
          ),
          Effect.mapError((error) => listenError(options.host, options.port, options.setting, error.cause)),
        ),
      ),
    ),
    Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.mebibytes(1))),
  )
